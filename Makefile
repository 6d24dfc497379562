# The project's commands. Each does its own set-up; `make` alone lists them.
# CARGO_FLAGS adds to every cargo call, for instance CARGO_FLAGS=--offline.

CARGO ?= cargo
CARGO_DEB ?= 3.8.0
.DEFAULT_GOAL := help
PREFIX ?= /usr/local
.PHONY: help setup demo test bench report fuzz fmt install deb clean

help: ## list the commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

setup: ## check for (as root on Debian: install) what building and testing need
	@scripts/setup.sh test

demo: ## convert records, validate EDI, and serve a COBOL program as a REST API
	@scripts/demo.sh

test: ## run every check: format, lints, tests, documents, dependencies, licences, fuzz targets
	@scripts/test.sh

bench: ## measure every figure that has a target, or with AREA=NAME those of one area; exits 1 if one misses it
	@scripts/setup.sh bench
	@$(CARGO) build $(CARGO_FLAGS) --release --quiet -p quayline-cli -p quayline-bench
	@target/release/quayline-bench $(if $(AREA),--area $(AREA))

report: ## measure the rows of the translator study of 2005 beside ours; MB=100 leaves larger files out
	@scripts/setup.sh demo
	@$(CARGO) build $(CARGO_FLAGS) --release --quiet -p quayline-cli -p quayline-bench
	@target/release/quayline-bench --study $(MB)

fuzz: ## fuzz every target for FUZZ_SECONDS (default 60) each
	@scripts/setup.sh test
	@scripts/fuzz.sh all $${FUZZ_SECONDS:-60}

fmt: ## format the sources
	@$(CARGO) fmt --all

install: ## build the command for use and copy it to PREFIX/bin (default /usr/local), stripped
	@scripts/setup.sh demo
	@$(CARGO) build $(CARGO_FLAGS) --release -p quayline-cli
	@install -D -m 755 --strip target/release/quayline $(DESTDIR)$(PREFIX)/bin/quayline

deb: ## build a Debian package with cargo-deb: target/debian/quayline_*.deb
	@scripts/setup.sh demo
	@$(CARGO) install --quiet --locked --version $(CARGO_DEB) --root target/tools cargo-deb
	@PATH="$(CURDIR)/target/tools/bin:$$PATH" $(CARGO) deb -p quayline-cli --locked

clean: ## remove what was built
	@$(CARGO) clean
