# Each target is enough on its own: it makes .venv and installs what it needs from the Python package index.
# Another interpreter: make PYTHON=python3.12 test.  Options for the command behind a target: make test ARGS="-k reduce",
# make bench ARGS="--device pocl --rounds 3".

PYTHON ?= python3
# The CPU runtime that the demo installs: cpu is PoCL on Linux; intel is for processors that PoCL's compiler does not know.
DRIVER ?= cpu
ARGS ?=
# What docs/build.py is given: --check compares the pages and writes none.
PASTE ?=
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable

.DEFAULT_GOAL := help
.PHONY: help demo test test-rest test-all test-rusticl sanitize fuzz lint docs bench clean

help:
	@echo "make demo   the factorial sequence and the power series of e^x on this machine's best device"
	@echo "make test   one case in eight of each test, on every device found and two CPU runtimes from the package index"
	@echo "make test-all  the whole test suite; make test-rest what make test left out, by the same CLMR_DRAW_SEED"
	@echo "make test-rusticl  a short selection on Mesa's rusticl (llvmpipe), where that is installed"
	@echo "make sanitize  every kernel under oclgrind, where that is installed: data races, accesses outside of memory"
	@echo "make fuzz   random calls beside NumPy, and wrong ones: ARGS=\"--device pocl --valid 50000 --seconds 3600\""
	@echo "make lint   ruff, and mypy --strict"
	@echo "make docs   the site, in build/site: pastes real output into the pages, runs the examples; PASTE=--check writes no page"
	@echo "make bench  the benchmarks, beside their peers"
	@echo "make clean  remove .venv, caches and what the demo wrote"

demo: $(VENV)/.demo-$(DRIVER)
	@$(BIN)/clmapreduce demo $(ARGS) || { \
	  [ $(DRIVER) = intel ] || echo "With Intel's CPU runtime (proprietary): make demo DRIVER=intel"; exit 1; }

# A crash of a driver ends the run: with files kept together, xdist would wait for the crashed worker's for ever.
PYTEST := $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile --max-worker-restart 0
# Both halves draw the same cases from one seed, so that together they run all.
CLMR_DRAW_SEED ?= $(shell date +%s)
export CLMR_DRAW_SEED := $(CLMR_DRAW_SEED)
EVERY := not sweep and not sanitize and not fuzz

test: $(VENV)/.test
	$(PYTEST) -m "$(EVERY) and not rest" $(ARGS)

test-rest: $(VENV)/.test
	$(PYTEST) -m "$(EVERY) and rest" $(ARGS)

test-all: test test-rest

# rusticl offers no device unless it is asked to; what it cannot do is in docs/concepts/architecture.md.
RUSTICL := /etc/OpenCL/vendors/rusticl.icd
test-rusticl: $(VENV)/.test
	@if [ ! -e $(RUSTICL) ]; then echo "rusticl was not tested: there is no $(RUSTICL) (Debian: mesa-opencl-icd)"; else \
	  RUSTICL_ENABLE=llvmpipe OCL_ICD_VENDORS=$(RUSTICL) $(BIN)/python -m pytest -n 0 tests/test_selftest.py \
	    tests/hostsched/test_memory.py tests/hostsched/test_pinned.py tests/hostsched/test_replay_*.py \
	    tests/primitives/test_reduce_*.py \
	    -k "not masks_are_counted and not strictly_sequential and not keeps_its_digits" $(ARGS); fi

sanitize: $(VENV)/.test
	$(BIN)/python -m pytest -n 0 -m sanitize -rs tests/sanitize $(ARGS)

fuzz: $(VENV)/.fuzz
	$(BIN)/python -m pytest -m fuzz tests/fuzz
	$(BIN)/python tests/fuzz $(ARGS)

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/mypy --strict

docs: $(VENV)/.docs-$(DRIVER)
	$(BIN)/python docs/draw.py
	$(BIN)/python docs/build.py $(PASTE)
	$(BIN)/python -m sphinx -W --keep-going -q -b html $(ARGS) docs build/site
	@echo "The site: build/site/index.html"

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/primitives.py $(ARGS)
	$(BIN)/python benchmarks/composition.py $(ARGS)
	$(BIN)/python benchmarks/pairwise.py $(ARGS)
	$(BIN)/python benchmarks/block_sparse.py $(ARGS)
	$(BIN)/python benchmarks/cluster.py
	$(BIN)/python benchmarks/segmented.py $(ARGS)
	$(BIN)/python benchmarks/spmv.py $(ARGS)
	$(BIN)/python benchmarks/algebras.py $(ARGS)
	$(BIN)/python benchmarks/recurrences.py $(ARGS)

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "clmapreduce needs Python 3.10 or newer, and '$(PYTHON)' is not: $$($(PYTHON) --version 2>&1)."; \
	  echo "Name a newer one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.demo-$(DRIVER): pyproject.toml $(VENV)/.made
	@echo "Installing into $(VENV) (about 120 MB to download, the first time) ..."
	@$(INSTALL) '.[$(DRIVER),plot]'
	@touch $@

$(VENV)/.test: pyproject.toml $(VENV)/.made
	@echo "Installing into $(VENV) (about 560 MB to download, the first time) ..."
	@$(INSTALL) '.[test]'
	@touch $@

$(VENV)/.docs-$(DRIVER): pyproject.toml $(VENV)/.made
	@echo "Installing into $(VENV) (about 350 MB to download, the first time) ..."
	@$(INSTALL) '.[docs,$(DRIVER)]'
	@touch $@

$(VENV)/.fuzz: pyproject.toml $(VENV)/.made
	@echo "Installing into $(VENV) (about 350 MB to download, the first time) ..."
	@$(INSTALL) '.[fuzz]'
	@touch $@

$(VENV)/.bench: pyproject.toml $(VENV)/.made
	@echo "Installing into $(VENV) (about 235 MB to download, the first time) ..."
	@$(INSTALL) '.[bench,cpu]'
	@touch $@

clean:
	rm -rf $(VENV) cl_templates/compiled.zip .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist convergence.png docs/gallery
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
