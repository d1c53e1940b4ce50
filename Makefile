# `make` alone prints the index of targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
INSTALLED_BENCH := $(VENV)/.installed-bench
FLINK_VENV := .venv-flink
FLINK_PINS := benchmarks/peers/flink-requirements.txt

.PHONY: help setup demo test fast crash lint format bench peers clean daemon package

help: ## this index
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

setup: $(INSTALLED) ## .venv with everything in it, and Java; instant when nothing changed
	@:

$(INSTALLED): pyproject.toml constraints.txt
	@bash scripts/ensure-venv.sh $(VENV)
	@bash scripts/ensure-java.sh $(VENV)/java-home
	@bash scripts/install.sh $(VENV) dev
	@touch $@

$(INSTALLED_BENCH): $(INSTALLED)
	@bash scripts/install.sh $(VENV) dev,bench
	@touch $@

demo: setup ## replay a packet stream through some 20 queries and show what is shared
	@$(BIN)/hemiola demo

test: lint ## lint and all tests, those of a live daemon among them
	@echo "==> tests without Spark, on all cores"
	@$(BIN)/python -m pytest -q -n auto -m "not spark and not daemon"
	@echo "==> tests with Spark (it starts once: the first one takes a while; a daemon is killed 25 times: minutes)"
	@$(BIN)/python -m pytest -q -m "spark or daemon"

daemon: setup ## the tests of a real daemon on the wall clock only
	@$(BIN)/python -m pytest -q -m daemon

fast: setup ## the tests that need no JVM, in seconds
	@HYPOTHESIS_PROFILE=quick $(BIN)/python -m pytest -q -n auto -m "not spark and not slow and not daemon"

crash: setup ## kill a running daemon 100 times, and look for an answer that is lost, wrong or there twice
	@HEMIOLA_KILLS=100 $(BIN)/python -m pytest -q tests/daemon/test_crash.py

lint: setup ## ruff, mypy --strict, layering
	@echo "==> ruff check"
	@$(BIN)/ruff check --quiet .
	@echo "==> ruff format --check"
	@$(BIN)/ruff format --quiet --check .
	@echo "==> mypy"
	@$(BIN)/mypy
	@echo "==> lint-imports"
	@$(BIN)/lint-imports --no-logo

format: setup ## let ruff format the code and fix what it can
	@$(BIN)/ruff check --quiet --fix .
	@$(BIN)/ruff format --quiet .

bench: $(INSTALLED_BENCH) ## the benchmarks: ratios measured side by side, into benchmarks/out/
	@$(BIN)/python -m benchmarks

peers: $(INSTALLED_BENCH) ## what else the benchmarks compare with, if it is there: bytewax, PyFlink (1 GB)
	@bash scripts/install.sh $(VENV) dev,bench,peers
	@bash scripts/ensure-venv.sh $(FLINK_VENV)
	@echo "==> installing PyFlink in $(FLINK_VENV) (minutes)"
	@$(FLINK_VENV)/bin/python -m pip install --disable-pip-version-check --quiet -r $(FLINK_PINS) || \
		{ rm -rf $(FLINK_VENV); echo "PyFlink cannot be installed here; the benchmarks run without it." >&2; }

package: setup ## dist/hemiola.zip: our packages for `spark-submit --py-files` (docs/cluster.md)
	@$(BIN)/python -m spark_jobs.shipping dist/hemiola.zip

clean: ## remove .venv, caches and what runs left behind
	rm -rf $(VENV) $(FLINK_VENV) var build dist *.egg-info benchmarks/out spark-warehouse
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
