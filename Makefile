# make            set up this machine, build cay and its guests; afterwards ./cay works
# make science    the image `science` besides: a Python with numpy, pandas and Matplotlib (an hour of processor time)
# make demo       build what the demonstration needs (all but the userland of GNU's tools), then show it
# make test       every test, with all of its own set-up
# make test-python-full   CPython's own tests, in sandboxes: minutes
# make test-node-full     Node's own tests, in sandboxes: minutes
# make test-curl-full   curl's own tests of HTTP, in sandboxes and natively: minutes
# make test-gnu-full    the tests of GNU's coreutils, grep, sed, gawk, findutils and diffutils, likewise
# make lint       the static analyser, over src
# make coverage   which lines the unit tests reach, by folder
# make bench      figures, beside native and bubblewrap
# make install PREFIX=/usr/local
# make wheel      the Python package with all it needs: dist/cay-*.whl
# make npm        the package for Node, likewise: dist/cay-*.tgz
# make clean      remove the build folders (the cache of fetched and built things stays: $CAY_CACHE)
#
# Parts: setup fetch build guests. JOBS=n limits parallel work.

PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
SAY = @printf '\033[1m%s\033[0m\n'

.PHONY: all science demo setup setup-test setup-bench fetch fetch-core build units guests guests-core recipes recipes-core build-asan build-tsan build-fuzz soak test test-python-full test-node-full test-curl-full test-gnu-full lint coverage bench install wheel npm clean

# The recipes of guests and the host are built side by side: each waits for downloads, or keeps one processor busy, for a good part of its time.
TOGETHER = $(MAKE) --no-print-directory $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j2)

all: setup
	@$(TOGETHER) guests

demo: setup
	@$(TOGETHER) guests-core
	@scripts/demo

setup:
	@scripts/setup

setup-test:
	@scripts/setup test

setup-bench:
	@scripts/setup bench

fetch: setup
	@scripts/fetch

# Without the sources of the userland.
fetch-core: setup
	@scripts/fetch --core

# ---- the host: build/ is what runs, the others are for the tests ----

build/build.ninja: | fetch-core
	@meson setup build >build.log 2>&1 || { cat build.log; rm -f build.log; exit 1; }
	@mv build.log build/setup.log

build-asan/build.ninja: | fetch-core setup-test
	@CC=clang-19 meson setup build-asan -Db_sanitize=address,undefined >/dev/null

build-tsan/build.ninja: | fetch-core setup-test
	@CC=clang-19 meson setup build-tsan -Db_sanitize=thread >/dev/null

build-fuzz/build.ninja: | fetch-core setup-test
	@CC=clang-19 meson setup build-fuzz -Dfuzz=true -Db_sanitize=address,undefined >/dev/null

build: build/build.ninja fetch-core
	@scripts/quietly build -j $(JOBS)
	@ln -sfn build/src/cli/cay cay

build-asan: TARGET = all tests
build-tsan: TARGET = units
build-fuzz: TARGET = fuzzers
build-asan build-tsan build-fuzz: %: %/build.ninja fetch-core
	@scripts/quietly $@ -j $(JOBS) $(TARGET)
	@ln -sfn ../../../build/guest $@/src/cay/guest

# The sanitized host under attacks at random: an hour, or MINUTES=5; SEED=77 ROUNDS=1 repeats a round.
soak: build-asan guests
	@scripts/soak --minutes $(or $(MINUTES),60) --rounds $(or $(ROUNDS),0) --seed $(or $(SEED),0)

# For scripts/unit without sanitizers.
units: build
	@scripts/quietly build -j $(JOBS) units

# ---- what runs inside ----

recipes recipes-core: setup
	@CAY_JOBS=$(JOBS) guest/build --out build/guest $(if $(filter %-core,$@),--core)

guests: recipes fetch
guests-core: recipes-core
guests guests-core: build
	@CAY_JOBS=$(JOBS) guest/build --out build/guest --aot build/src/aot/cay-aot --cay build/src/cli/cay $(if $(filter %-core,$@),--core)
	@ln -sfn ../../guest build/src/cay/guest

science: guests
	@scripts/fetch --science
	@CAY_JOBS=$(JOBS) guest/build --out build/guest --aot build/src/aot/cay-aot --cay build/src/cli/cay --science

# ---- using it ----

test: setup-test guests build-asan build-tsan build-fuzz
	@scripts/run-tests

# CPython's own tests, all that doc/python-testsuite.md counts: that page is written anew.
test-python-full: guests
	@test/python-suite/run --all

# Node's own tests, all that doc/javascript-testsuite.md counts: that page is written anew.
test-node-full: guests
	@test/node-suite/run

# curl's own tests of HTTP, all that doc/curl-testsuite.md counts: that page is written anew.
test-curl-full: setup-test guests
	@test/curl-suite/run --all

# The tests of GNU's tools, all that doc/gnu-testsuites.md counts: that page is written anew.
test-gnu-full: setup-test guests
	@test/gnu-suite/run --all

lint: fetch
	@scripts/setup test lint
	@scripts/lint

coverage: setup-test guests
	@scripts/coverage

bench: setup-bench guests
	@bench/run
	@bench/python
	@bench/package

install: guests
	@meson configure build -Dprefix=$(abspath $(PREFIX)) >/dev/null
	@DESTDIR=$(DESTDIR) meson install -C build --quiet
	@scripts/install-guests build/guest $(DESTDIR)$(abspath $(PREFIX))/lib/cay/guest
	@DESTDIR=$(DESTDIR) guest/install $(abspath $(PREFIX))
	@scripts/notices $(DESTDIR)$(abspath $(PREFIX))/share/doc/cay

wheel: guests
	@scripts/wheel

npm: guests
	@scripts/npm

clean:
	rm -rf build build-asan build-tsan build-fuzz build-lint build-coverage dist cay
