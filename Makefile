# Short front of the Meson build. `make demo` and `make test` set up a fresh machine themselves.
BUILD ?= build
SHELL := /bin/bash
# tools/setup installs one in .venv where the system's is too old
MESON = $$([ -x .venv/bin/meson ] && echo .venv/bin/meson || echo meson)

.PHONY: all build demo install pictures test check wheel deb bench sbom check-all clean docs
all: build

# All that is installed, and the example, without tests; a build folder with tests is used as it is.
build:
	@tools/setup
	@test -f $(BUILD)/build.ninja || { $(MESON) setup $(BUILD) . -Dtests=false >/dev/null && echo "building in $(BUILD)"; }
	@ninja -C $(BUILD) --quiet everyday

# Into /usr/local, where the compiler, pkg-config and CMake look. DESTDIR=FOLDER: below that folder, for packagers.
install: build
	@$(MESON) install -C $(BUILD) --no-rebuild --quiet
	@[ -n "$(DESTDIR)" ] || ldconfig

demo: build
	@tools/demo $(BUILD)

test:
	@tools/setup test
	@tools/test $(BUILD)

# What takes longer: sanitizers, a second PyTorch, packages, attacks, faults of many rounds.
check:
	@tools/setup test
	@tools/test --check $(BUILD)

# dist/: the sdist and a wheel for any Linux with glibc 2.34 or newer.
wheel:
	@tools/setup wheel
	@tools/wheel

# dist/: Debian packages.
deb:
	@tools/setup deb
	@tools/deb

# Retakes the pictures of docs/. LEDGER=FILE.tide: a recording of a GPU, for the picture of its memory.
pictures: build
	@tools/setup test
	@mkdir -p out && $(BUILD)/examples/gpt --steps 12 -o out/pictures.tide >/dev/null
	@$(BUILD)/examples/gpt --steps 12 --batch 6 -o out/larger.tide >/dev/null
	@DEMO=out/pictures.tide OTHER=out/larger.tide .venv/bin/node web/test/pictures.mjs $(BUILD)/src/tidemark . docs/guide/pictures

# docs/ as a site in out/site, link-checked.
docs:
	@test -x .venv/bin/mkdocs || { test -d .venv || python3 -m venv .venv; .venv/bin/pip install -q --disable-pip-version-check mkdocs-material; }
	@.venv/bin/mkdocs build --quiet --strict && echo "Open out/site/index.html in a browser."

bench: build
	@bench/run $(BUILD)

# What the wheel is made of besides our own code, as CycloneDX: out/tidemark.cdx.json.
sbom:
	@tools/setup sbom
	@mkdir -p out && .venv/bin/python tools/sbom out/tidemark.cdx.json

check-all:
	@tools/setup check
	@tools/check-all $(BUILD)

clean:
	rm -rf $(BUILD) build-*
