# `make book` and `make test` set up all they need in .venv, with nothing but Python and pip.
# Another Python: make book PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
export PATH := $(BIN):$(PATH)

# What the environment was made from. A stamp is a file named after this: a checkout that was
# moved, another Python or an edited pyproject.toml asks for another stamp, and nothing else does.
FROM_PYTHON := $(shell $(PYTHON) -c 'import os, sys, zlib; \
	print(zlib.crc32(repr((sys.version, sys.base_prefix, os.getcwd())).encode()))')
FROM_PROJECT := $(shell cksum < pyproject.toml | cut -d ' ' -f 1)
MADE := $(VENV)/made-$(FROM_PYTHON)
INSTALLED := $(MADE)-$(FROM_PROJECT)

# One thread a process: pytest and the notebooks share the cores between processes.
ONE_THREAD := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: help book notebooks test clean
.SUFFIXES:

help:
	@echo 'make book       execute what is missing or stale, build the book: _build/html/index.html'
	@echo 'make test       run every test and hold every notebook against its committed outputs'
	@echo 'make notebooks  execute every notebook anew'
	@echo 'make clean      remove the built book and the environment'

book: $(INSTALLED)
	@python book/_ext/notebooks.py build
	@python book/_ext/make_book.py

notebooks: $(INSTALLED)
	@python book/_ext/notebooks.py all

test: $(INSTALLED)
	@$(ONE_THREAD) python -m pytest -n auto --dist loadfile --doctest-modules \
		--nbval --nbval-current-env $(PYTEST)

clean:
	@rm -rf _build $(VENV) .pytest_cache .ruff_cache .hypothesis

$(MADE):
	@echo 'Setting up $(VENV), once: about three minutes ...'
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(INSTALLED): | $(MADE)
	@python -m pip install -qq --disable-pip-version-check -e '.[book,test]'
	@rm -f $(MADE)-*
	@touch $@
