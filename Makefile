# Each command sets up what it needs: .venv with the project and, where no Java is found, one for Spark.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
READY := $(VENV)/.ready
CONNECT := $(VENV)/connect
WORKERS := --numprocesses 2 --dist loadgroup

.PHONY: help demo test test-wide test-long lint check-delta-spark install clean

help:
	@echo "make demo               films, two nested views, batches; each compared with recomputation"
	@echo "make test               the tests, in minutes"
	@echo "make test-wide          those that take as long again"
	@echo "make test-long          all of them, with as many cases as it takes"
	@echo "make lint               ruff, import-linter and mypy"
	@echo "make check-delta-spark  delta-spark and this project in one environment"
	@echo "make clean              remove .venv and what tools leave behind"

demo: install
	@$(BIN)/ripplenest demo

# Always the pytest script: "python -m pytest" puts this folder on the path, and with it a top-level "delta".
# Two workers; tests/conftest.py says which tests must share one.
test: install
	@$(BIN)/pytest -m "not long and not wide" $(WORKERS)

# What tests/support/wide.py lists.
test-wide: install
	@$(BIN)/pytest -m "wide and not long" $(WORKERS)

test-long: install $(CONNECT)/.ready
	@$(BIN)/pytest -m "" $(WORKERS)

lint: install
	@$(BIN)/ruff check .
	@$(BIN)/lint-imports --no-cache --no-logo
	@$(BIN)/mypy

check-delta-spark: install
	@scripts/check_delta_spark.sh $(BIN)/python

# Java may come and go without a change of ours, so it is looked for every time. -P: see "test".
install: $(READY)
	@$(BIN)/python -P -m ripplenest.spark.java >/dev/null 2>&1 || { \
		echo "No Java of 17 or newer found: installing one into $(VENV)"; \
		$(PIP) install --quiet --editable '.[dev,java]' && \
		$(BIN)/python -P -m ripplenest.spark.java >/dev/null; }

# The stamps are written last, so that a step that was interrupted is done again.
$(READY): pyproject.toml $(VENV)/.made
	@echo "Installing into $(VENV) (minutes, the first time)"
	@$(PIP) install --quiet --editable '.[dev]'
	@touch $@

# What Spark Connect needs, in a folder that its test alone has on its path: with pandas there, Arrow makes other values.
$(CONNECT)/.ready: pyproject.toml $(READY)
	@rm -rf $(CONNECT)
	@$(BIN)/python -P scripts/extra.py connect > $(VENV)/connect.txt
	@$(PIP) install --quiet --target $(CONNECT) --requirement $(VENV)/connect.txt
	@touch $@

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 is needed: make PYTHON=...")'
	@$(PYTHON) -m venv $(VENV)
	@touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis spark-warehouse
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
