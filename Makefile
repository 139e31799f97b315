# `make book` and `make test` create .venv and install all dependencies into it with pip.
# To use another Python: make book PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
export PATH := $(BIN):$(PATH)

# Each stamp is an empty file. Its name encodes the Python, the folder and pyproject.toml, so that
# make installs again if one of these three changes.
FROM_PYTHON := $(shell $(PYTHON) -c 'import os, sys, zlib; \
	print(zlib.crc32(repr((sys.version, sys.base_prefix, os.getcwd())).encode()))')
FROM_PROJECT := $(shell cksum < pyproject.toml | cut -d ' ' -f 1)
MADE := $(VENV)/made-$(FROM_PYTHON)
INSTALLED := $(MADE)-$(FROM_PROJECT)

# One thread per process, because pytest runs one process per core.
ONE_THREAD := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: help book notebooks test clean
.SUFFIXES:

help:
	@echo 'make book       execute missing or stale notebooks, build _build/html/index.html'
	@echo 'make test       run all tests, compare every notebook with its committed outputs'
	@echo 'make notebooks  execute every notebook again'
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
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or later is \
	needed, and this is " + sys.version.split()[0] + ": try make book PYTHON=python3.12")'
	@echo 'Setting up $(VENV), once: about three minutes ...'
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(INSTALLED): | $(MADE)
	@python -m pip install -qq --disable-pip-version-check -e '.[book,test]'
	@rm -f $(MADE)-*
	@touch $@
