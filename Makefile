# sidecall. `make help` lists the targets; README.md and CONTRIBUTING.md say more.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
TOOLS := .tools/bin
PROTOS := $(wildcard protos/sidecall/v1/*.proto)
export PATH := $(CURDIR)/$(BIN):$(CURDIR)/$(TOOLS):$(PATH)
export SIDECALL_BIN := $(CURDIR)/$(BIN)/sidecall
export MCP_SERVER_TIME := $(CURDIR)/$(BIN)/mcp-server-time
export CARGO_TARGET_DIR ?= $(CURDIR)/clients/rust/target

# Generators and inspectors that are Go programs, pinned.
PROTOC_GEN_GO := google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
PROTOC_GEN_GO_GRPC := google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
GRPCURL := github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.3

# Languages beside Python whose clients are tested here, with the program each needs.
LANGUAGES := go rust typescript
NEEDS_go := go
NEEDS_rust := cargo
NEEDS_typescript := npm
GET_go := Go 1.26 from https://go.dev/dl
GET_rust := Rust 1.88 from https://rustup.rs
GET_typescript := Node.js 20 with npm from https://nodejs.org

# COMPILED=1: the server's own work as C extensions, with the targets that run it.
COMPILED ?=
COMPILED_SERVER := .compiled
ifneq ($(COMPILED),)
export PYTHONPATH := $(CURDIR)/$(COMPILED_SERVER)
endif

# REQUIRE_ALL=1: a language that is missing is an error (CI).
REQUIRE_ALL ?=
MARKS := .test-marks

.PHONY: help
help:  ## List the targets
	@grep -hE '^[a-z][a-z-]*:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

# --- set-up ---------------------------------------------------------------------------

$(VENV)/.installed: pyproject.toml clients/python/pyproject.toml
	@echo "==> installing into $(VENV) (the first time this takes about a minute)"
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install --quiet --disable-pip-version-check -e clients/python -e '.[dev]'
	@touch $@

.PHONY: setup
setup: $(VENV)/.installed  ## Make the virtual environment with everything in it

$(COMPILED_SERVER)/.made: $(VENV)/.installed setup.py $(shell find server -name '*.py')
	@echo "==> compiling the server into $(COMPILED_SERVER) (it takes four minutes)"
	@rm -rf $(COMPILED_SERVER)
	@SIDECALL_COMPILE=1 $(PY) -m pip install --quiet --disable-pip-version-check --no-deps \
		--target $(COMPILED_SERVER) .
	@touch $@

.PHONY: compiled
compiled: $(COMPILED_SERVER)/.made  ## Compile the server with mypyc: COMPILED=1 runs it so

.PHONY: server
server: $(if $(COMPILED),compiled,setup)

.PHONY: wheel
wheel: setup  ## A compiled wheel of the server for this platform, and the client's, into dist/
	@SIDECALL_COMPILE=1 $(PY) -m pip wheel --quiet --disable-pip-version-check --no-deps \
		--wheel-dir dist clients/python .
	@ls dist

$(TOOLS)/%:
	@echo "==> installing $(notdir $@) into $(TOOLS)"
	@GOBIN=$(CURDIR)/$(TOOLS) GOFLAGS=-mod=mod go install $(TOOL_PACKAGE)

$(TOOLS)/protoc-gen-go: TOOL_PACKAGE = $(PROTOC_GEN_GO)
$(TOOLS)/protoc-gen-go-grpc: TOOL_PACKAGE = $(PROTOC_GEN_GO_GRPC)
$(TOOLS)/grpcurl: TOOL_PACKAGE = $(GRPCURL)

clients/typescript/node_modules/.installed: clients/typescript/package.json
	@echo "==> installing the TypeScript client's packages"
	@cd clients/typescript && npm install --no-package-lock --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: clean
clean:  ## Remove everything that can be made again
	rm -rf $(VENV) .tools $(COMPILED_SERVER) build dist $(MARKS) .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -rf clients/typescript/node_modules clients/typescript/dist clients/rust/target

# --- demos ----------------------------------------------------------------------------

.PHONY: demo
demo: setup  ## Watch a sidecar serve an agent with real tools
	@cd clients/python/examples && $(PY:%=$(CURDIR)/%) -m demo

.PHONY: demo-go
demo-go: setup  ## The same in Go
	@cd clients/go/examples && go run ./demo

.PHONY: demo-rust
demo-rust: setup  ## The same in Rust
	@cd clients/rust && cargo run --quiet --example demo

.PHONY: demo-typescript
demo-typescript: setup clients/typescript/node_modules/.installed  ## The same in TypeScript
	@cd clients/typescript && npm run --silent demo

# --- tests ----------------------------------------------------------------------------

.PHONY: test
test: test-python  ## All tests; says which languages are missing and how to get them
	@skipped=; $(foreach language,$(LANGUAGES), \
		if command -v $(NEEDS_$(language)) >/dev/null; then $(MAKE) test-$(language); \
		else skipped="$$skipped $(language)"; \
			echo "==> SKIPPED: $(language). To test it, get $(GET_$(language))"; fi;) \
	if [ -n "$$skipped" ]; then echo "==> passed, but skipped:$$skipped"; \
		test -z "$(REQUIRE_ALL)"; else echo "==> passed, all languages"; fi

.PHONY: test-python
test-python: setup $(if $(shell command -v go),$(TOOLS)/grpcurl)
	@echo "==> testing Python: server, client, contract"
	@$(PY) -m pytest $(PYTEST_ARGS)
	@mkdir -p $(MARKS) && touch $(MARKS)/python

# Tests that put something in the place of a part of the server need one that is not compiled.
.PHONY: test-compiled
test-compiled: compiled  ## The server's own tests, on the compiled server
	@echo "==> testing Python: the compiled server"
	@PYTHONPATH=$(CURDIR)/$(COMPILED_SERVER) $(PY) -m pytest -m "not interpreted" \
		$(or $(PYTEST_ARGS),tests/domain tests/runtime tests/wire tests/rpc)
	@mkdir -p $(MARKS) && touch $(MARKS)/compiled

.PHONY: test-go
test-go: setup
	@echo "==> testing Go"
	@cd clients/go && go vet ./... && go test -race ./...
	@cd clients/go/examples && go vet ./... && go test ./...
	@mkdir -p $(MARKS) && touch $(MARKS)/go

.PHONY: build-rust
build-rust:
	@cd clients/rust && cargo test --quiet --no-run && cargo build --quiet --examples

.PHONY: test-rust
test-rust: setup
	@echo "==> testing Rust"
	@cd clients/rust && cargo test --quiet
	@mkdir -p $(MARKS) && touch $(MARKS)/rust

.PHONY: test-typescript
test-typescript: setup clients/typescript/node_modules/.installed
	@echo "==> testing TypeScript"
	@cd clients/typescript && npm run --silent check
	@mkdir -p $(MARKS) && touch $(MARKS)/typescript

.PHONY: vectors
vectors: server  ## The golden vectors against a live server
	@$(PY) -m tests.conformance

.PHONY: conformance
conformance: server drivers  ## One suite for the clients of all languages
	@$(PY) -m tests.conformance.clients $(if $(REQUIRE_ALL),,--available)

.PHONY: drivers
drivers: $(if $(shell command -v npm),clients/typescript/node_modules/.installed)

.PHONY: chaos
chaos: server  ## Break everything at random (SECONDS=60 SEED=1)
	@$(PY) -m tests.chaos --seconds $(or $(SECONDS),60) --seed $(or $(SEED),1)

.PHONY: soak
soak: server  ## A steady load for MINUTES=10; fails on growth
	@$(PY) -m tests.soak --minutes $(or $(MINUTES),10)

.PHONY: fuzz
fuzz: server  ## Hostile input for SECONDS=60
	@$(PY) -m tests.fuzz --seconds $(or $(SECONDS),60)

.PHONY: bench
bench: compiled  ## What the sidecar costs, beside a same-shape echo (minutes; ARGS=--help)
	@PYTHONPATH=$(CURDIR)/$(COMPILED_SERVER) $(PY) -m tests.bench $(ARGS)

.PHONY: bench-quick
bench-quick: compiled  ## The same in under 50 s
	@PYTHONPATH=$(CURDIR)/$(COMPILED_SERVER) $(PY) -m tests.bench --quick

# --- checks ---------------------------------------------------------------------------

.PHONY: lint
lint: lint-python lint-go lint-rust  ## ruff, mypy, buf lint and breaking, import-linter, gofmt, clippy

.PHONY: lint-python
lint-python: setup
	ruff check .
	ruff format --check .
	mypy
	buf lint
	buf breaking --against ".git#ref=$(CONTRACT_BASE)"
	PYTHONPATH=server:clients/python lint-imports --no-cache

.PHONY: lint-go
lint-go:
	@if command -v gofmt >/dev/null; then test -z "$$(gofmt -l clients/go)"; fi

.PHONY: lint-rust
lint-rust:
	@if command -v cargo >/dev/null; then cd clients/rust && cargo fmt --check && \
		cargo clippy --quiet --all-targets -- -D warnings; fi

# The contract that must not break: that of main, wherever it is.
CONTRACT_BASE = $(shell git rev-parse -q --verify origin/main || \
	git rev-parse -q --verify main || git rev-parse HEAD)

.PHONY: generate
generate: generate-python generate-go generate-typescript  ## Make all stubs from protos/

.PHONY: generate-python
generate-python: setup
	@$(PY) -m grpc_tools.protoc -Iprotos --python_out=clients/python \
		--mypy_out=quiet:clients/python $(PROTOS)
	@$(PY) -m grpc_tools.protoc -Iprotos --grpc_python_out=clients/python \
		--mypy_grpc_out=quiet:clients/python $(filter %_service.proto,$(PROTOS))

.PHONY: generate-go
generate-go: setup $(TOOLS)/protoc-gen-go $(TOOLS)/protoc-gen-go-grpc
	@buf generate --template clients/go/buf.gen.yaml

.PHONY: generate-typescript
generate-typescript: setup clients/typescript/node_modules/.installed
	@buf generate --template clients/typescript/buf.gen.yaml

.PHONY: fresh
fresh: generate  ## Fail when the committed stubs are not what protos/ make
	@changed=$$(git status --porcelain -- clients/python/sidecall/v1 clients/go/sidecallv1 \
		clients/typescript/src/gen); \
	if [ -n "$$changed" ]; then echo "not fresh; commit these:"; echo "$$changed"; exit 1; fi

.PHONY: check
check: lint fresh test vectors conformance  ## What CI runs
