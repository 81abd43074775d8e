# One command per chore; `make help` lists them.
#
# PYTHON              the interpreter that makes .venv: Python 3.11 or newer, found by itself when not given
# JOBS                processes for the tests
# ROOST_TEST_CACHE    the one folder for what is large and slow to get: the peers of the benchmarks, built environments
# ROOST_TEST_REQUIRE  what must not skip, such as `interpreters,root,fuse,chromium`: a test that would skip for it fails instead
# PARTS               which parts of `make test-real`; all when not given
# AT_ONCE             how many parts of it run at the same time
# REAL_SECONDS        what all parts together may take: one that would not fit any more is left out, and that is said
# SOAK_SECONDS        how long `make soak` takes
# BENCH               arguments of the benchmarks, such as BENCH="log_call ingest --rounds 3"

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

export ROOST_TEST_CACHE ?= $(HOME)/.cache/roost-tests
export PIP_DISABLE_PIP_VERSION_CHECK := 1

JOBS ?= 3
AT_ONCE ?= 2
REAL_SECONDS ?= 3600
SOAK_SECONDS ?= 3600
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)

VENV := .venv
BIN := $(VENV)/bin
INSTALL = $(or $(shell [ -x $(BIN)/python ] && echo $(BIN)/python),$(PYTHON),$(error No Python 3.11 or newer found; \
	name one: make PYTHON=/path/to/python3.11)) tools/install.py $(VENV)
PYTEST := $(BIN)/python -m pytest
# System packages are made sure of here, before any test: no test installs one.
SYSTEM := $(BIN)/python -m tests.debian
CODE := src tests bench examples tools

# The parts of `make test-real`, each the files tests/real/test_<part>.py and test_<part>_*.py, with the seconds it may take; half of them are usual. The long ones first: two at a time, they then end together.
REAL_PARTS := environments:2400 containers:1500 articles:2400 kills:1200 horovod:1800 schema:900 curated:1800 distributed:1800 examples:1800 serving:900 archive:1800 studio:900 conda:1200 data:900 postgres:600 hosts:600 tables:1200 wheel:600 notebooks:600 bench:1800
PARTS ?= $(foreach part,$(REAL_PARTS),$(firstword $(subst :, ,$(part))))

.PHONY: help demo test check bench install system lint quick test-real soak format clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

demo: $(VENV)/.server ## install Roost and run an example training job with live logs, metrics and outputs
	@$(BIN)/python examples/demo.py

test: $(VENV)/.dev ## install what the tests need and run them (about ten minutes on two cores)
	@$(SYSTEM) test
	@$(PYTEST) -m "not real" -n $(JOBS) --durations 10

check: lint quick ## format, lint, types, layers, quick tests

install: $(VENV)/.dev ## make .venv with everything
	@echo "Ready: source $(BIN)/activate"

system: $(VENV)/.dev ## install the system packages that any test needs (root, apt), or name what is missing
	@$(SYSTEM) real

lint: $(VENV)/.dev ## format, lint, types and layers, nothing changed
	@$(BIN)/ruff format --check $(CODE)
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/mypy
	@$(BIN)/lint-imports

quick: $(VENV)/.dev ## the tests that need no whole stories
	@$(SYSTEM) test
	@$(PYTEST) -q -m "not slow and not real" -n $(JOBS)

bench: $(VENV)/.dev ## measure against the budgets, with MLflow, Ray, bare processes and the disk in the same run
	@$(SYSTEM) bench
	@$(BIN)/python -m bench $(BENCH)

test-real: $(VENV)/.dev ## the long and large tests, in parts: make test-real PARTS="kills bench"
	@$(SYSTEM) real
	@$(BIN)/python -m tests.parts --known "$(REAL_PARTS)" --seconds $(REAL_SECONDS) --at-once $(AT_ONCE) --alone bench $(PARTS)

soak: $(VENV)/.dev ## kill processes of every kind for an hour and count what is lost: make soak SOAK_SECONDS=600
	@$(SYSTEM) real
	@ROOST_SOAK_SECONDS=$(SOAK_SECONDS) $(PYTEST) -m real tests/real/test_kills_storm.py

format: $(VENV)/.dev ## format the code and fix what can be fixed
	@$(BIN)/ruff format $(CODE)
	@$(BIN)/ruff check --fix $(CODE)

clean: ## remove .venv and everything else that was made here
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests bench examples -name __pycache__ -prune -exec rm -rf {} +
	rm -rf src/*.egg-info

# The stamps make a second call instant, and a change of dependencies heard.

$(VENV)/.server: pyproject.toml constraints.txt
	@echo "Installing Roost into $(VENV)"
	@$(INSTALL) '.[server]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt
	@echo "Installing Roost and its development tools into $(VENV)"
	@$(INSTALL) '.[dev]'
	@touch $(VENV)/.server $@
