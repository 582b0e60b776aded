# Two commands: `make run` shows what dampen does, `make test` checks that it does it right.
# Both create .venv on their first run (with uv where it is present) and work offline from then on.

PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(shell command -v uv >/dev/null 2>&1 && echo "uv pip install --quiet --python $(BIN)/python" || echo "$(BIN)/python -m pip install --quiet --disable-pip-version-check")
CREATE := $(shell command -v uv >/dev/null 2>&1 && echo "uv venv --quiet --allow-existing --python $(PYTHON) .venv" || echo "$(PYTHON) -m venv .venv")

.PHONY: run test lint types imports pytest test-slow test-report clean

run: .venv/.run
	$(BIN)/dampen demo

test: lint types imports pytest

lint: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.test
	$(BIN)/mypy

imports: .venv/.test
	$(BIN)/lint-imports

pytest: .venv/.test
	$(BIN)/pytest -n auto -m "not slow"

test-slow: .venv/.test
	$(BIN)/pytest -n auto -m slow

# Needs a browser: apt-get install chromium
test-report: .venv/.test
	$(BIN)/pytest tests/browser/report_page.py

.venv/.run: pyproject.toml
	$(CREATE)
	$(INSTALL) -e ".[plot]"
	@echo "Compiling the kernels, once ..."
	@$(BIN)/python -c "from dampen.cli import demo_scenes; demo_scenes.influence(); demo_scenes.diagnosis()"
	touch $@

.venv/.test: pyproject.toml
	$(CREATE)
	$(INSTALL) -e ".[test]"
	touch .venv/.run $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache build dist
