# The commands of this project. `make test` and `make run` set everything up by themselves.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Whoever forbids Python to keep what it compiled makes each of the many processes compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup run test pictures bench docs lock format clean

help:
	@echo "make setup    create $(VENV) with the pinned requirements and this project"
	@echo "make run      serve the demo: API, MCP and the page, on a store with a story of two weeks"
	@echo "make test     format, lint, types, import floors, tests"
	@echo "make pictures take the pictures of the guides anew"
	@echo "make bench    speed beside its floors"
	@echo "make docs     the documentation site, in site/"
	@echo "make format   rewrite the source in the house format"
	@echo "make lock     pin the newest requirements pyproject.toml allows"
	@echo "make clean    remove $(VENV) and caches"

setup: $(VENV)/.project

$(VENV)/.requirements: requirements/dev.txt requirements/uv.txt
	@echo "== pinned requirements into $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements/dev.txt
	@touch $@

$(VENV)/.project: $(VENV)/.requirements pyproject.toml
	@echo "== this project into $(VENV)"
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

# Scripts of skills run in bubblewrap, and their tests are never skipped.
$(VENV)/.sandbox: $(VENV)/.requirements requirements/bubblewrap.sh
	@command -v bwrap >/dev/null || test -x $(BIN)/bwrap || { \
		echo "== bubblewrap"; sh requirements/bubblewrap.sh $(VENV); }
	@touch $@

# The page is tested in a real browser.
$(VENV)/.browser: $(VENV)/.requirements requirements/chromium.sh
	@command -v chromium >/dev/null || test -x $(BIN)/chromium || { \
		echo "== chromium"; sh requirements/chromium.sh $(VENV); }
	@touch $@

run: setup
	@$(BIN)/lamina serve --demo

test: setup $(VENV)/.sandbox $(VENV)/.browser
	@echo "== format"
	@$(BIN)/ruff format --check .
	@echo "== lint"
	@$(BIN)/ruff check .
	@echo "== import floors"
	@$(BIN)/lint-imports
	@echo "== tests, and types beside them"
	@$(BIN)/mypy > $(VENV)/types.log 2>&1 & types=$$!; \
		$(BIN)/python -m pytest -n $$(( $$(nproc) + 1 )) --dist worksteal; tests=$$?; \
		wait $$types; wrong=$$?; \
		echo "== types"; cat $(VENV)/types.log; \
		exit $$(( tests + wrong ))

# The pictures of the guides, taken by the tests of the page; of the overview before others have added to the story.
pictures: setup $(VENV)/.browser
	@PICTURES_OF_LAMINA=$(CURDIR)/docs/images $(BIN)/python -m pytest -n 0 tests/page
	@PICTURES_OF_LAMINA=$(CURDIR)/docs/images $(BIN)/python -m pytest -n 0 tests/page/test_overview.py

bench: setup
	@$(BIN)/python -m benchmarks

# Nothing of the site comes from the internet, and a warning is an error.
docs: setup
	@$(BIN)/python -m docs.reference.write
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html; its search needs a server: python3 -m http.server -d site"

format: setup
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

# No configuration of the machine may reach the lock: it names packages and hashes, never where they came from.
lock: setup
	@$(BIN)/uv pip compile pyproject.toml --all-extras --group dev --universal --python-version 3.11 \
		--upgrade --generate-hashes --no-config --no-emit-index-url --quiet \
		--custom-compile-command "make lock" --output-file requirements/dev.txt
	@(echo "# The installer of everything else, from dev.txt: \`make lock\` writes both."; \
		sed -n '/^uv==/,/^[^ ]/{/^uv==/p;/^ /p}' requirements/dev.txt) > requirements/uv.txt

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist site bench-results
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
