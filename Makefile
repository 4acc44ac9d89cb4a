# Ringfort's front door.  Meson and Ninja do the work; this says what there is to do.

# Debian's Python by its full name: its pytest belongs to it, and not to a python3 that comes
# first on somebody's PATH.
PYTHON := $(firstword $(wildcard /usr/bin/python3) python3)
MESON ?= meson
PREFIX ?= /usr/local

# musl, where it is there, makes every start of a box half a millisecond faster; see meson.build.
CC_OF_BUILD := $(firstword $(notdir $(shell command -v musl-gcc)) $(CC))
# The library goes into other people's programs, and those have the system's libc: a build of its own.
LIBRARY := $(if $(filter musl-gcc,$(CC_OF_BUILD)),build-lib)
FUZZ_SECONDS ?= 30

.DEFAULT_GOAL := help
.PHONY: help deps deps-check deps-vm build run check check-all attack promises check-vm bombs calls bench faults reliability fuzz lint format docs install clean

# Each target's text stands beside it, after two number signs.
help:
	@echo 'Ringfort contains what AI agents do.  New here?  Two commands:'
	@echo
	@echo '  make run      install what is missing, build, and watch boxes hold'
	@echo '  make check    prove it: every test, on this machine'
	@echo
	@echo 'All targets:'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | \
		while IFS='|' read -r name text; do printf '  %-11s %s\n' "$$name" "$$text"; done
	@echo
	@echo 'After a build: build/ringfort run -- python3 -c "print(6 * 7)"'

deps: ## install what building and running needs (as root or through sudo)
	@scripts/deps

deps-check: ## install what the tests use, too
	@scripts/deps --check

build: build/build.ninja $(LIBRARY:%=%/build.ninja) ## build the programs into build/, the library into build-lib/
	@ninja -C build --quiet
	@$(if $(LIBRARY),ninja -C $(LIBRARY) --quiet && scripts/beside $(LIBRARY) build)

build/build.ninja:
	@command -v $(MESON) >/dev/null || { echo 'no $(MESON) here: run "make deps" first' >&2; exit 1; }
	@CC=$(CC_OF_BUILD) $(MESON) setup build --prefix=$(PREFIX) >build.log 2>&1 || { cat build.log >&2; exit 1; }
	@mv build.log build/setup.log

build-lib/build.ninja:
	@CC=$(CC) $(MESON) setup build-lib --prefix=$(PREFIX) -Dprograms=false >build.log 2>&1 || { cat build.log >&2; exit 1; }
	@mv build.log build-lib/setup.log

run: deps ## install, build, and show what a box holds back
	@$(MAKE) --no-print-directory build
	@scripts/demo

check: deps-check ## run every suite; ONLY=gateway one area, FAILED=1 what failed last, SEED=N that sample
	@$(PYTHON) -B tests/check $(if $(ONLY),--only '$(ONLY)') $(if $(FAILED),--failed) $(if $(SEED),--seed $(SEED))

check-all: deps-check ## everything whole: each matrix, others' suites, a million pairs of policies (hours)
	@$(PYTHON) -B tests/check --all $(if $(SEED),--seed $(SEED))

attack: build ## try every attack in every mode, and print the escape score (minutes)
	@$(PYTHON) -B tests/attack/score.py

promises: ## write docs/promises.md anew from what the suites found (build/results/)
	@$(PYTHON) -B tests/promises.py

deps-vm: ## install the emulator for a second kernel, too
	@scripts/deps --vm

check-vm: deps-vm build ## run boxes on a second kernel, with cgroup v2 only, in QEMU (minutes)
	@tests/vm/run

calls: build ## measure which system calls real programs need, for docs/seccomp.md (minutes)
	@$(PYTHON) -B tests/calls/measure --docs

bombs: build ## set off every bomb in every kind of box, and write docs/bombs.md (minutes)
	@RINGFORT_BOMBS=all PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -m pytest -q -p no:cacheprovider tests/bombs; \
		code=$$?; $(PYTHON) -B tests/bombs/report.py --write docs/bombs.md && exit $$code

bench: build ## measure, and compare with what others need
	@test -x bench/run || { echo 'there is no bench/run in this tree' >&2; exit 1; }
	@bench/run

faults: build ## let every system call of a box's start fail, and kill at each (an hour)
	@tests/faults/run

reliability: build ## kill our own processes at random instants, and write docs/reliability.md (minutes)
	@tests/reliability/run --write

fuzz: ## search for inputs that break a parser (FUZZ_SECONDS=30 each)
	@scripts/fuzz $(FUZZ_SECONDS)

lint: build ## check layout, common mistakes and the shape of the tree
	@scripts/lint

format: ## lay out the C sources with clang-format
	@find src include tests bench examples/library -name '*.[ch]' -print0 | xargs -0 clang-format -i

docs: build ## write docs/cli.md anew from the table of commands
	@$(PYTHON) -B packaging/reference.py --page build/packaging/help.json >docs/cli.md.new
	@mv docs/cli.md.new docs/cli.md

install: build ## install (PREFIX=/usr/local is set by the first build; DESTDIR is honoured)
	@$(MESON) install -C build --no-rebuild
	@$(if $(LIBRARY),$(MESON) install -C $(LIBRARY) --no-rebuild)

clean: ## remove all build folders
	rm -rf build build-lib build-asan build-clang build-fuzz build.log
