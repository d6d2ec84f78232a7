# Everyday commands. `make` alone lists them. The first that needs it builds .venv with the exact versions of
# constraints.txt; it is brought up to date whenever pyproject.toml or constraints.txt changes.
#
#   ARGS         passed on:            make test ARGS="-k moon"     make train ARGS="--resume"
#   CONFIG       the run to train:     make train CONFIG=configs/quick.yaml
#   JOBS         processes to test in:  make test JOBS=0 ARGS="-k moon -x"
#   PYTHON       the Python to use:    make test PYTHON=python3.12
#   TORCH_INDEX  one more package index for pip, for a CPU build of torch on Linux (see README)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

ARGS ?=
JOBS ?= 2
CONFIG ?= configs/quick.yaml
PYTHON ?=
TORCH_INDEX ?=

VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
PIP_FLAGS := --disable-pip-version-check -c constraints.txt $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))

# The first of these that is Python 3.11 or newer and can make environments is used.
PYTHONS := $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python $(wildcard $(HOME)/.pyenv/versions/3.1[1-9]*/bin/python))
SUITABLE := -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))'

.PHONY: help train test test-libraries docs lint format bench hooks constraints clean

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

train: $(STAMP) ## Train a network in six minutes, then play it against all opponents
	$(PY) -m training.train $(CONFIG) $(ARGS)

test: $(STAMP) ## Run every test
	$(PY) -m pytest -n $(JOBS) $(ARGS)

test-libraries: ## Train and play every library example, in environments of their own (8 gigabytes, minutes)
	@set -eu; for candidate in $(PYTHONS); do "$$candidate" $(SUITABLE) 2>/dev/null && break; done; \
	"$$candidate" -m tests.libraries.environments --jobs $(JOBS) $(if $(TORCH_INDEX),--index $(TORCH_INDEX)) $(ARGS)

docs: $(STAMP) ## Build the documentation into site/, warnings and dead links being errors
	rm -rf site
	$(PY) -m sphinx -q -W --keep-going -E -b html -d build/doctrees docs site
	@echo "the first page is site/index.html"

lint: $(STAMP) ## Check style and types (ruff, mypy)
	@status=0; \
	for check in "ruff check ." "ruff format --check ." "mypy"; do \
	    echo "$(PY) -m $$check"; $(PY) -m $$check || status=1; \
	done; exit $$status

format: $(STAMP) ## Put the code into the house format
	$(PY) -m ruff check --fix-only .
	$(PY) -m ruff format .

bench: $(STAMP) ## Measure speed on this machine
	$(PY) -m chearts_env.bench --also baselines.bench_opponents:works $(ARGS)

hooks: $(STAMP) ## Run the checks of `make lint` before every commit
	$(PY) -m pre_commit install

constraints: ## Choose the newest versions afresh (torch stays as it is) and write constraints.txt
	@set -eu; \
	torch=$$(grep '^torch==' constraints.txt); header=$$(grep '^#' constraints.txt); \
	for candidate in $(PYTHONS); do "$$candidate" $(SUITABLE) 2>/dev/null && break; done; \
	"$$candidate" -m venv --clear .venv-constraints; \
	.venv-constraints/bin/python -m pip install -e '.[train,onnx,play,record,minari,render,docs,test]' "$$torch" $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)); \
	{ echo "$$header"; .venv-constraints/bin/python -m pip freeze --all --exclude pip --exclude-editable | sed 's/+[a-z0-9]*$$//'; } > constraints.new; \
	mv constraints.new constraints.txt; rm -rf .venv-constraints

clean: ## Remove the environments, caches and build products; runs/ stays
	rm -rf $(VENV) .venv-ci .venv-constraints .venv-libraries* build dist site \
	    .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A .venv whose Python has gone (upgraded, moved away) is built anew.
ifneq ($(shell test -x $(PY) && echo there),there)
.PHONY: $(STAMP)
endif

$(STAMP): pyproject.toml constraints.txt
	@set -eu; \
	if ! $(PY) $(SUITABLE) 2>/dev/null; then \
	    found=; \
	    for candidate in $(PYTHONS); do \
	        if "$$candidate" $(SUITABLE) 2>/dev/null; then found=$$candidate; break; fi; \
	    done; \
	    if [ -z "$$found" ]; then \
	        echo "make: no suitable Python. Needed: 3.11 or newer with the modules venv and ensurepip"; \
	        echo "      (on Debian and Ubuntu the package python3-venv). Tried: $(PYTHONS)."; \
	        echo "      Name one with: make PYTHON=/path/to/python ..."; \
	        exit 1; \
	    fi >&2; \
	    echo "make: building $(VENV) with $$("$$found" --version) ($$found), once; torch makes it some minutes"; \
	    "$$found" -m venv --clear $(VENV); \
	fi; \
	$(PY) -m pip install $(PIP_FLAGS) -e '.[train,onnx,play,record,minari,render,docs,test]'; \
	touch $@
