# Set-up and checks. `make demo` and `make test` need a Debian or Ubuntu with Python 3.10 or
# newer and nothing else; PYTHON=/path/to/python3 chooses another interpreter.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PYTHON ?=
# Tests run so many at a time. Those with real processes need a core each, or more.
WORKERS ?= 2

.PHONY: help demo test lint format types imports unit properties e2e slow gpu wheel bench accuracy tried attack clean browser docs-images

help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- Set-up: a stamp file per environment, renewed when what it was made from changes.

$(VENV)/bin/python:
	.ci/make-venv $(VENV) $(PYTHON)

$(VENV)/.examples-installed: pyproject.toml | $(VENV)/bin/python
	$(PIP) --editable '.[examples]'
	touch $@

# torch first and by itself: nothing may pull another build, and where the pinned one is
# not to be had, only the tests that need it are skipped.
$(VENV)/.dev-installed: pyproject.toml constraints-dev.txt | $(VENV)/bin/python
	$(PIP) --constraint constraints-dev.txt torch \
		|| echo "the pinned torch is not available here: tests that need it are skipped"
	$(PIP) --constraint constraints-dev.txt --editable '.[austin,examples,dev]'
	touch $@ $(VENV)/.examples-installed

# --- What people type.

demo: $(VENV)/.examples-installed ## profile the bandit example: ranked report and flamegraph
	$(BIN)/rlprof run --python $(BIN)/python --label demo examples/bandit --stage 1 --runs 48
	$(BIN)/rlprof flame --force -o bandit.svg
	@echo
	@echo "The flamegraph of all its processes is in $(CURDIR)/bandit.svg: open it in a browser."
	@echo "Try the next stage: $(BIN)/rlprof run examples/bandit --stage 2 --runs 480"

test: lint types imports unit e2e wheel ## every check and test; what CI runs

lint: $(VENV)/.dev-installed ## ruff: lint and format
	$(BIN)/ruff check
	$(BIN)/ruff format --check

format: $(VENV)/.dev-installed ## ruff: fix and format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

types: $(VENV)/.dev-installed ## mypy --strict
	$(BIN)/mypy

imports: $(VENV)/.dev-installed ## data flows one way: import-linter
	$(BIN)/lint-imports

unit: $(VENV)/.dev-installed ## tests without real processes
	$(BIN)/pytest -q -n $(WORKERS) -m "not slow" --ignore tests/e2e --ignore tests/browser

# What fails while another test, or another program of the machine, takes its CPU is run once more by itself: it fails there, too, or is told
# as passed alone.
ONCE_MORE = --last-failed --last-failed-no-failures none -rfEp
e2e: $(VENV)/.dev-installed browser ## tests with real processes, samplers and a browser
	$(BIN)/pytest -q -n $(WORKERS) -m 'not slow and not alone' tests/e2e tests/browser \
		|| $(BIN)/pytest -q $(ONCE_MORE) -m 'not slow and not alone' tests/e2e tests/browser
	$(BIN)/pytest -q -m 'not slow and alone' tests/e2e tests/browser \
		|| $(BIN)/pytest -q $(ONCE_MORE) -m 'not slow and alone' tests/e2e tests/browser

slow: $(VENV)/.dev-installed ## the tests that take minutes
	$(BIN)/pytest -q -m slow tests

properties: $(VENV)/.dev-installed ## the property tests with thousands of new examples each
	$(BIN)/pytest -q -n $(WORKERS) -m hypothesis --hypothesis-profile=many --timeout 1200 tests/unit tests/properties

gpu: $(VENV)/.dev-installed ## the tests that need a GPU (and torch with CUDA or ROCm); skipped without
	$(BIN)/pytest -q -rs -m gpu tests/gpu

docs-images: $(VENV)/.dev-installed browser ## the pictures of the documentation, from recordings made right now
	$(BIN)/python docs/make_images.py

wheel: $(VENV)/.dev-installed ## build the wheel, install it alone, record and report with it
	.ci/check-wheel $(BIN)/python

bench: $(VENV)/.dev-installed ## the measured figures: overhead, speed, accuracy (takes long)
	for script in benchmarks/*.py; do echo "## $$script"; $(BIN)/python $$script; done

accuracy: $(VENV)/.dev-installed ## are prices true: programs with one fault, and healthy ones (more than an hour)
	mkdir -p build
	$(BIN)/python benchmarks/accuracy.py --json build/accuracy.json

tried: $(VENV)/.dev-installed ## is what `rlprof try` measures true: the same programs (some two hours)
	mkdir -p build
	$(BIN)/python benchmarks/tried.py --json build/tried.json

# Two seeds side by side, so with more patience; the table of docs/reliability.md comes from it. Root tries more rows.
SEED ?= 1
attack: $(VENV)/.dev-installed ## kills, bad files, full disks, other users: is the training harmed (a quarter of an hour)
	$(BIN)/python -m benchmarks.attack --seed $(SEED) --seed $$(($(SEED) + 1)) --jobs 2 --patience 3 --markdown docs/reliability.md

clean: ## remove everything that make made
	rm -rf $(VENV) .clean-venv build dist bandit.svg
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# Debian's chromium drives the browser tests, and packages of npm check what it shows; what is
# missing is skipped.
browser:
	@if ! command -v chromium >/dev/null; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y chromium; } \
				|| echo "chromium could not be installed: the browser tests are skipped"; \
		else \
			echo "no chromium: the browser tests are skipped (sudo apt-get install chromium)"; \
		fi; \
	fi
	@if ! command -v npm >/dev/null; then \
		echo "no npm: the browser tests that need its packages are skipped (sudo apt-get install npm)"; \
	elif [ ! build/browser-packages/.installed -nt tests/browser/package.json ]; then \
		mkdir -p build/browser-packages; \
		cp tests/browser/package.json build/browser-packages/; \
		npm install --silent --ignore-scripts --no-audit --no-fund --no-package-lock --prefix build/browser-packages \
			&& touch build/browser-packages/.installed \
			|| echo "npm's registry could not be reached: the browser tests that need its packages are skipped"; \
	fi
