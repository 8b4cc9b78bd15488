# Everything that is done with the project, one target each. Needs make and Python 3.11 or newer.
.DEFAULT_GOAL := help
SHELL := /bin/sh

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
LOCK_VENV := .lock-venv
UV := $(LOCK_VENV)/bin/uv
LITE_VENV := .lite-venv

# Your own Python: make test PYTHON=/path/to/python
PYTHON ?=
TEST_ARGS ?=
SEED ?=
SEEDS ?= 1
FUZZ_SECONDS ?= 600
KILLS ?= 20
KINDS ?=
WORKERS ?= auto
DEMO_ARGS ?=
BENCH_ARGS ?=
PYODIDE ?=

# Tests start many processes; without bytecode each would compile the whole package anew.
export PYTHONDONTWRITEBYTECODE =

PYTEST = $(BIN)/python -m pytest --ignore=tests/browser --numprocesses=$(WORKERS) --maxprocesses=4

# Told in one place, in words a newcomer can act on.
FIND_PYTHON = \
	for candidate in $(if $(PYTHON),"$(PYTHON)",python3.13 python3.12 python3.11 python3 python); do \
		if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
		then found="$$candidate"; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
		echo "cepkit needs Python 3.11 or newer, and none was found" \
			"(looked for: $(if $(PYTHON),$(PYTHON),python3.13 python3.12 python3.11 python3 python))." >&2; \
		echo "Install one, or name yours: make $(or $(MAKECMDGOALS),test) PYTHON=/path/to/python3" >&2; \
		exit 1; \
	fi

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

# The environment is made anew when the lock or the project's metadata changes. Every package must
# have a hash of the lock. Python compiles what it imports; pip would compile all, of which half is
# never used. What builds pyspark's wheel comes first, as pip is to fetch no other.
$(READY): requirements.lock pyproject.toml
	@if ! $(BIN)/python -c 'import pip' 2>/dev/null; then \
		$(FIND_PYTHON); \
		echo "Creating $(VENV) with $$("$$found" --version)"; \
		"$$found" -m venv --clear $(VENV) || { \
			echo "The virtual environment could not be created." \
				"On Debian and Ubuntu: sudo apt-get install python3-venv" >&2; \
			exit 1; \
		}; \
	fi
	@echo "Installing the locked packages into $(VENV)" \
		"(the first time takes minutes: pyspark alone is about 450 MB)"
	@awk '/^[a-z]/ { kept = /^(packaging|setuptools|wheel)==/ } kept' requirements.lock \
		> $(VENV)/build.lock
	@$(PIP) install --no-compile --require-hashes -r $(VENV)/build.lock
	@$(PIP) install --no-compile --no-build-isolation --require-hashes -r requirements.lock
	@$(PIP) install --no-build-isolation --no-deps -e .
	@touch $@

.PHONY: install
install: $(READY) ## Create .venv with the locked packages and cepkit

.PHONY: demo
demo: $(READY) ## Run the main job on sample events (DEMO_ARGS=...)
	@$(BIN)/cepkit demo $(DEMO_ARGS)

# On several cores: a file's tests stay together, and all that need Spark share one session. Of the
# rest, which is mostly Spark, each process has a part, and takes tests from another when it is done.
.PHONY: test
test: $(READY) ## Run the tests, a few minutes (TEST_ARGS="-k pattern -x")
	HYPOTHESIS_PROFILE=quick $(PYTEST) --dist=loadfile --no-loadscope-reorder \
		-m "not slow and not browser" $(TEST_ARGS)

# What each JVM of the tests starts from, in half of the time; as good for all versions of cepkit.
CLASSES := build/spark-classes.jsa
$(CLASSES): $(READY)
	@$(BIN)/python -m tests.spark.classes $@

.PHONY: test-rest
test-rest: $(READY) $(CLASSES) ## Run what make test leaves out, and draw more examples
	$(PYTEST) --dist=worksteal -m "(slow or hypothesis) and not browser" $(TEST_ARGS)

.PHONY: test-all
test-all: test test-rest test-browser ## Run all tests

.PHONY: test-bare
test-bare: $(READY) ## Run every verb in an install without extras
	$(BIN)/python -m tests.bare.run

.PHONY: test-matrix
test-matrix: $(READY) $(UV) ## Run the quick tests without Spark on old and new packages
	$(BIN)/python -m tests.bare.matrix $(UV) --numprocesses=$(WORKERS) --maxprocesses=4 \
		--dist=loadfile --no-loadscope-reorder $(TEST_ARGS)

.PHONY: test-kills
test-kills: $(READY) $(CLASSES) ## Kill streaming queries at random moments (KILLS=20)
	$(BIN)/python -m tests.spark.kills --kills $(KILLS) $(KINDS)

.PHONY: cluster-test
cluster-test: $(READY) ## Kill workers of a cluster of this machine in the middle of searches
	$(BIN)/python -m tests.spark.cluster $(KINDS)

.PHONY: connect-test
connect-test: $(READY) ## Run the batch tests over Spark Connect (TEST_ARGS="-k over_connect")
	@$(BIN)/python -c 'import grpc, grpc_status, zstandard' || { \
		echo "Spark Connect needs more packages: $(BIN)/pip install 'pyspark[connect]'" >&2; \
		exit 1; \
	}
	$(BIN)/python -m tests.spark.connect $(TEST_ARGS)

.PHONY: test-long
test-long: $(READY) ## Run the property tests with many more examples
	HYPOTHESIS_PROFILE=long $(PYTEST) -o faulthandler_timeout=0 tests/properties $(TEST_ARGS)

# One seed after the other, up to the first that fails.
.PHONY: test-random
test-random: $(READY) ## Run the tests that draw with new examples (SEEDS=20), or again (SEED=123)
	@seed="$(SEED)"; \
	[ -n "$$seed" ] || seed=$$($(BIN)/python -c 'import secrets; print(secrets.randbelow(10**9))'); \
	last=$$((seed + $(SEEDS) - 1)); \
	while [ "$$seed" -le "$$last" ]; do \
		echo "Seed $$seed of $$last"; \
		HYPOTHESIS_PROFILE=random $(PYTEST) -q -m hypothesis \
			--hypothesis-seed="$$seed" $(TEST_ARGS) || { \
			echo "Seed $$seed fails. Again: make test-random SEED=$$seed" >&2; \
			exit 1; \
		}; \
		seed=$$((seed + 1)); \
	done

# Texts, documents, values and command lines that nobody should give. It goes on after a failure.
.PHONY: fuzz
fuzz: $(READY) ## Try odd input for FUZZ_SECONDS=600, the same again with FUZZ_SEED=123
	FUZZ_SECONDS="$(FUZZ_SECONDS)" FUZZ_SEED="$(FUZZ_SEED)" $(BIN)/python -m tests.fuzz.run

# The browser is the system's: Debian's is installed where that may be done without asking.
.PHONY: test-browser
test-browser: $(READY) ## Run the browser tests (installs Chromium where it may)
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "Installing Chromium"; \
			apt-get update --quiet --quiet && DEBIAN_FRONTEND=noninteractive apt-get install \
				--quiet --quiet --yes --no-install-recommends chromium fonts-dejavu-core; \
		else \
			echo "The browser tests need Chromium on the PATH, and there is none." \
				"On Debian: sudo apt-get install chromium fonts-dejavu-core" >&2; \
			exit 1; \
		fi; \
	}
	$(BIN)/python -m pytest -m browser tests/browser $(TEST_ARGS)

.PHONY: lint
lint: $(READY) ## Check style, format, types and the import order
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	@# Its cache goes by each file's own time: it misses that an imported file came or went.
	$(BIN)/lint-imports --no-logo --no-cache

.PHONY: format
format: $(READY) ## Format the code and fix what can be fixed
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

.PHONY: docs
docs: $(READY) ## Build the documentation's pages in build/site (runs the notebooks)
	$(BIN)/python docs/build.py

.PHONY: tables
tables: $(READY) ## Write the tables in README.md and docs/ from the shelves
	$(BIN)/python docs/tables.py
	$(BIN)/python docs/gallery.py

.PHONY: pictures
pictures: $(READY) ## Take the pictures of README.md anew (needs Chromium)
	$(BIN)/python docs/pictures.py

.PHONY: lab
lab: $(READY) ## Open JupyterLab on the notebooks
	$(BIN)/jupyter lab --notebook-dir=notebooks

.PHONY: lite
lite: ## Build a site that runs lessons in the browser, in build/lite (PYODIDE=folder)
	@if [ ! -e "$(PYODIDE)" ]; then \
		echo "make lite needs the full distribution of Pyodide 0.27.7: download" \
			"pyodide-0.27.7.tar.bz2 from the releases of pyodide/pyodide on GitHub, and name the" \
			"archive or its folder: make lite PYODIDE=pyodide-0.27.7.tar.bz2" >&2; \
		exit 1; \
	fi
	@$(FIND_PYTHON); [ -d $(LITE_VENV) ] || "$$found" -m venv $(LITE_VENV)
	@$(LITE_VENV)/bin/python -m pip --disable-pip-version-check --quiet install -r docs/lite.txt
	@$(LITE_VENV)/bin/python docs/lite.py "$(PYODIDE)"

.PHONY: bench
bench: $(READY) ## Run the benchmarks (BENCH_ARGS=...)
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

# Universal: one file for Python 3.11 and newer on Linux, macOS and Windows, with the hash of every
# file of a release. It names no index, so that pip takes the packages from wherever the reader's
# own settings say, and checks that they are those that were locked.
$(UV):
	@$(FIND_PYTHON); "$$found" -m venv --clear $(LOCK_VENV) && \
		$(LOCK_VENV)/bin/python -m pip --disable-pip-version-check --quiet install uv

.PHONY: lock
lock: $(UV) ## Resolve pyproject.toml anew into requirements.lock
	$(UV) pip compile --quiet --upgrade --universal --python-version 3.11 \
		--all-extras --generate-hashes --no-header --no-annotate \
		--no-emit-index-url --no-emit-find-links --output-file requirements.lock pyproject.toml

.PHONY: licences
licences: $(READY) ## Write docs/licences.md anew from the installed packages
	$(BIN)/python tools/licences.py

.PHONY: clean
clean: ## Remove caches and build output
	rm -rf build dist out .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis \
		$(LOCK_VENV) $(LITE_VENV) spark-warehouse metastore_db derby.log
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +

.PHONY: clean-all
clean-all: clean ## Remove caches, build output and .venv
	rm -rf $(VENV)
