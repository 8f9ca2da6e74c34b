# What a person needs: make run, make test, make check, make bench, make clean.
# Everything is installed into .venv from exact pins; a second call finds its stamps and is quick.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
HOST := $(or $(GRADSERVE_HOST),127.0.0.1)
PORT ?= $(or $(GRADSERVE_PORT),8000)
ARGS ?=

.PHONY: help run test check format bench web install install-dev lock clean
.DELETE_ON_ERROR:

help:
	@echo "make run     install what is needed, start the server on http://$(HOST):$(PORT) (PORT=...)"
	@echo "make test    install the test tools, run every test, about 25 minutes on two cores"
	@echo "             (ARGS=... goes to pytest: ARGS=tests/core/test_compression.py runs one file)"
	@echo "make check   format, lint, types, import contracts"
	@echo "make bench   measure what the README claims, write benchmarks/results/"
	@echo "make clean   remove .venv and everything built"

run: install
	@scripts/build_web.sh || echo "The playground was not built (see above); the API runs without it."
	@echo "gradserve on http://$(HOST):$(PORT)  (Ctrl-C stops it)"
	@exec $(BIN)/gradserve serve --host $(HOST) --port $(PORT) $(ARGS)

test: install-dev
	@scripts/build_web.sh || echo "The playground was not built (see above); its tests will not pass."
	@scripts/test_tools.sh
	$(BIN)/python -m pytest $(ARGS)

check: install-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	$(BIN)/python scripts/check_locks.py

format: install-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: install-dev
	$(BIN)/python -m benchmarks.run $(ARGS)

web:
	@scripts/build_web.sh

# The pins, anew: the newest versions that pyproject.toml allows.
lock:
	scripts/lock.sh

install: $(VENV)/run.stamp
install-dev: $(VENV)/dev.stamp

$(VENV)/python.stamp:
	@python=$$(PYTHON="$(PYTHON)" scripts/find_python.sh) && echo "Making $(VENV) with $$python" && "$$python" -m venv $(VENV)
	@touch $@

$(VENV)/run.stamp: $(VENV)/python.stamp requirements/run.txt pyproject.toml
	@echo "Installing requirements/run.txt into $(VENV) (about a minute the first time)"
	@$(PIP) install --requirement requirements/run.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m app.sparse.kernels.build
	@touch $@

$(VENV)/dev.stamp: $(VENV)/run.stamp requirements/dev.txt
	@echo "Installing requirements/dev.txt into $(VENV)"
	@$(PIP) install --requirement requirements/dev.txt
	@touch $@

clean:
	rm -rf $(VENV) app/web_dist web/node_modules web/dist build dist *.egg-info
	rm -rf .pytest_cache .ruff_cache .hypothesis .schemathesis .import_linter_cache test-results
	find app tests benchmarks scripts -name __pycache__ -type d -prune -exec rm -rf {} +
