# Short front of the Meson build. `make demo` and `make test` set up a fresh machine themselves.
BUILD ?= build
SHELL := /bin/bash

.PHONY: all build demo pictures test bench check-all clean
all: build

# The program and the example, without tests; a build folder with tests is used as it is.
build:
	@tools/setup
	@test -f $(BUILD)/build.ninja || { meson setup $(BUILD) . -Dtests=false >/dev/null && echo "building in $(BUILD)"; }
	@ninja -C $(BUILD) --quiet src/tidemark examples/gpt

demo: build
	@tools/demo $(BUILD)

test:
	@tools/setup test
	@tools/test $(BUILD)

# Retakes the pictures of docs/guide/pages.md.
pictures: build
	@tools/setup test
	@mkdir -p out && $(BUILD)/examples/gpt --steps 12 -o out/pictures.tide >/dev/null
	@DEMO=out/pictures.tide .venv/bin/node web/test/pictures.mjs $(BUILD)/src/tidemark . docs/guide/pictures

bench: build
	@bench/run $(BUILD)

check-all: test
	@tools/check-all

clean:
	rm -rf $(BUILD) build-*
