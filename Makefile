# sidecall. `make help` lists the targets; README.md and CONTRIBUTING.md say more.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
PROTOS := $(wildcard protos/sidecall/v1/*.proto)
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: help
help:  ## List the targets
	@grep -hE '^[a-z][a-z-]*:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 24

$(VENV)/.installed: pyproject.toml clients/python/pyproject.toml
	@echo "==> installing into $(VENV) (first time: about a minute)"
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install --quiet --disable-pip-version-check -e clients/python -e '.[dev]'
	@touch $@

.PHONY: setup
setup: $(VENV)/.installed  ## Make the virtual environment with everything in it

.PHONY: generate-python
generate-python: setup
	@$(PY) -m grpc_tools.protoc -Iprotos --python_out=clients/python \
		--mypy_out=quiet:clients/python $(PROTOS)
	@$(PY) -m grpc_tools.protoc -Iprotos --grpc_python_out=clients/python \
		--mypy_grpc_out=quiet:clients/python $(filter %_service.proto,$(PROTOS))

.PHONY: lint
lint: setup  ## ruff, mypy, buf, import-linter
	ruff check .
	ruff format --check .
	mypy
	buf lint
	PYTHONPATH=server:clients/python lint-imports --no-cache
