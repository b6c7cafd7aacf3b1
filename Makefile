# Everything runs in .venv, which is made from requirements.lock on first use.
# Needed on the machine: Python 3.11-3.13, make, and Java 17 or newer for Spark (the tests use it as oracle).

PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.installed
PIP     := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-deps
WORKERS ?= 3
# More arguments for pytest, e.g. make test ARGS='-k covers'
ARGS    ?=
CODE    := $(wildcard src tests bench docs/pictures)

# One of the workers runs the tests that need Spark first, with one JVM that is warm after the first
# dozen; the others, and then all of them, run the rest.
PYTEST  := $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

# Tests start hundreds of Pythons, which had better find their bytecode than make it again.
export PYTHONDONTWRITEBYTECODE :=

# Spark starts the Python of its workers by this name.
export PYSPARK_PYTHON := $(abspath $(BIN)/python)
export PYSPARK_DRIVER_PYTHON := $(PYSPARK_PYTHON)

.DEFAULT_GOAL := help
.PHONY: help setup hooks demo check test test-long bench lint format docs pictures lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(STAMP) ## make .venv and install the locked dependencies (the other targets do it when needed)

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' || { \
	  echo "Tidegate needs Python 3.11, 3.12 or 3.13, but '$(PYTHON)' is: $$($(PYTHON) --version 2>&1)"; \
	  echo "Name another one: make PYTHON=python3.11 setup"; exit 1; } >&2
	@echo 'Installing the locked dependencies into $(VENV); Spark alone is over 400 MB, so this takes a while.'
	$(PYTHON) -m venv $(VENV)
	@awk '/^[a-z]/ { keep = /^setuptools==/ } keep' requirements.lock > $(VENV)/setuptools.lock
	$(PIP) --require-hashes --requirement $(VENV)/setuptools.lock
	$(PIP) --require-hashes --no-build-isolation --use-pep517 --requirement requirements.lock
	$(PIP) --no-build-isolation --editable .
	@touch $@

hooks: ## let git look at commit messages (.githooks)
	git config core.hooksPath .githooks

demo: $(STAMP) ## a trading day streamed through Spark while thresholds move
	$(BIN)/tidegate demo

check: lint ## for every day: lint, types, and the quicker tests that need no Spark
	TIDEGATE_QUICK=1 $(PYTEST) -m 'not spark and not slow' $(ARGS)

test: $(STAMP) ## all tests, the documentation's examples included
	$(PYTEST) $(ARGS)

test-long: $(STAMP) ## the same tests at larger sizes
	TIDEGATE_LONG=1 $(PYTEST) $(ARGS)

bench: $(STAMP) ## our figures beside the alternatives', in one run
	$(BIN)/tidegate bench parse relate match boxes overlay

lint: $(STAMP) ## ruff (rules and format) and mypy --strict
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy --strict $(CODE)

format: $(STAMP) ## let ruff mend what it can
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

docs: $(STAMP) ## run every example in README.md and docs/
	$(BIN)/python -m pytest tests/test_docs.py $(ARGS)

pictures: $(STAMP) ## draw the pictures in docs/pictures/ anew
	$(BIN)/python -m docs.pictures.draw

lock: ## rewrite requirements.lock from pyproject.toml (LOCK_ARGS=--upgrade for new versions)
	@test -x $(BIN)/uv || $(MAKE) setup
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest \
	  --generate-hashes --no-annotate --no-emit-index-url --no-emit-find-links \
	  --custom-compile-command 'make lock' --extra dev $(LOCK_ARGS) \
	  --output-file requirements.lock pyproject.toml

clean: ## remove .venv and everything that was built or cached
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +
