# Short front of the Meson build. `make demo` and `make test` set up a fresh machine themselves.
BUILD ?= build
SHELL := /bin/bash

.PHONY: all setup build demo pictures test bench check-all clean
all: build

setup:
	@tools/setup

build: setup
	@test -f $(BUILD)/build.ninja || { meson setup $(BUILD) . >/dev/null && echo "building in $(BUILD): some minutes, this first time"; }
	@ninja -C $(BUILD) --quiet

demo: build
	@tools/demo $(BUILD)

# The pictures of docs/guide/pages.md, taken anew.
pictures: build
	@mkdir -p out && $(BUILD)/examples/gpt --steps 12 -o out/pictures.tide >/dev/null
	@DEMO=out/pictures.tide node web/test/pictures.mjs $(BUILD)/src/tidemark . docs/guide/pictures

test: build
	@tools/setup torch
	@meson test -C $(BUILD) --print-errorlogs
	@tools/skipped $(BUILD)
	@tools/sanitize

bench: build
	@bench/run $(BUILD)

check-all: test
	@tools/check-all

clean:
	rm -rf $(BUILD) build-*
