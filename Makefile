# What developers and CI run. `make test` is the whole of it; see CONTRIBUTING.md.

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
FAST := tests/unit tests/adapters --ignore-glob='*test_host_*' -m "not clients and not faults"

.DEFAULT_GOAL := help
.PHONY: help setup tools clients demo test test-all test-fast test-pythons lint bench \
	bench-documents lock clean

help:  ## show the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 17

setup: $(VENV)/.installed  ## make the virtual environment .venv from the lock

$(VENV)/.locked: requirements.lock
	@$(PYTHON) -c 'import ensurepip' || \
		{ echo "$(PYTHON) can make no virtual environment: on Debian, apt-get install python3-venv" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	touch $@

$(VENV)/.installed: $(VENV)/.locked pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

tools:  ## install the system programs that the tests run, or name those missing
	sh scripts/system-tools.sh

clients: setup  ## install the real client programs, outside this directory
	$(BIN)/python -m tests.clients.install

demo: setup  ## the main job, on a fleet of three embedded hosts
	$(BIN)/fleetsync demo

test: tools setup clients lint  ## what CI runs: every behaviour once, on the real programs
	$(PYTEST) -n 2 --dist worksteal

test-all: export FLEETSYNC_MATRIX := full
test-all: test test-pythons  ## the same tests over every version, shell, mode and Python

test-fast: tools setup  ## the tests that start no client program and kill nothing
	$(PYTEST) -n 2 --dist worksteal -m "not clients and not faults"

test-pythons: setup  ## the fast tests on the newest Python found (what hosts run has no Python in it)
	sh scripts/test-pythons.sh $(BIN)/python $(FAST)

lint: setup  ## ruff, mypy strict, and who may import whom
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup  ## how long a fleet takes
	$(BIN)/python -m benchmarks

bench-documents: setup  ## how long an edit takes
	$(BIN)/python -m benchmarks.bench_documents

lock: setup  ## write requirements.lock anew; UPGRADE=--upgrade takes the newest of everything
	$(BIN)/uv pip compile --quiet $(UPGRADE) --universal --python-version 3.11 --group dev \
		--generate-hashes --no-emit-index-url --no-header \
		pyproject.toml --output-file requirements.lock

clean:  ## remove what these targets made here
	rm -rf $(VENV) .venvs build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
