# Needs Python 3.11 to 3.13 and make; everything else is set up in .venv from the locked versions.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
LAYERS := instances formulations solvers policies validation schedopt

.PHONY: agree help demo test test-all explore lint speed plugin-test logs reproduction notebooks-student docs archive archive-file borg lock release-check schema slurm-test clean

help:            ## this list
	@grep -E '^[a-z-]+: .*##|^[a-z-]+:  *##' Makefile | sed 's/:.*## */\t/'

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info < (3, 14) else "schedopt needs Python 3.11 to 3.13, found " + sys.version.split()[0] + "; try: make PYTHON=python3.13")'
	@echo "setting up .venv: the extra all and the tools of requirements.lock, 1.5 GB on disk;"
	@echo "two or three minutes, most of them for the last line of pip"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q $(LAYERS)  # which pip does for packages that are not editable
	@touch $@

demo: $(READY)   ## solve a render night under a fair share, then compare the selectors with the optimum
	PYTHON=$(BIN)/python benchmarks/demo.sh

test: $(READY)   ## lint, types, tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@$(BIN)/python -m compileall -q $(LAYERS)  # as pip does for packages that are not editable
	$(BIN)/pytest -n auto --dist worksteal

test-all: $(READY) ## the tests with all random examples and full-size runs (half an hour)
	@$(BIN)/python -m compileall -q $(LAYERS)
	SCHEDOPT_TESTS=all $(BIN)/pytest -n auto --dist worksteal

MINUTES ?= 30
explore: $(READY) ## new random examples until MINUTES=30 are over or a test fails, with the command that repeats the failure
	@end=$$(($$(date +%s) + 60 * $(MINUTES))); while [ $$(date +%s) -lt $$end ]; do \
	run="$(BIN)/pytest -m hypothesis --hypothesis-profile=explore --hypothesis-seed=$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')"; \
	echo "$$run"; $$run -rf -n auto --dist worksteal || { echo "repeat with: $$run TEST"; exit 1; }; done

lint: $(READY)   ## format the code, fix what ruff can fix, and list the rest
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/mypy

speed: $(READY)  ## CPU seconds of schedopt and other solvers, into docs/speed.md with charts (an hour; QUICK=1: five minutes)
	$(BIN)/python -m benchmarks.speed $(if $(QUICK),--quick)

plugin-test: $(READY) ## a real Snakemake, from the registry, under --scheduler schedopt (four minutes; needs the network)
	$(PYTHON) -m venv build/plugin
	@# the plug-in needs schedopt's base alone
	build/plugin/bin/python -m pip install --quiet --disable-pip-version-check "snakemake>=9,<10" hatchling pytest . plugins/snakemake
	build/plugin/bin/python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-build-isolation --no-deps . plugins/snakemake
	build/plugin/bin/python -m pytest -q plugins/snakemake/tests

slurm-test: $(READY) ## carry out nights on a real Slurm that this starts in a temporary folder (forty minutes; installs Debian's packages)
	benchmarks/slurm/install.sh
	$(BIN)/python -m benchmarks.slurm

reproduction: $(READY) ## run the whole ledger in full (an hour), and write docs/reproduction.md anew
	$(BIN)/python -m benchmarks.reproduction

logs: $(READY)   ## policies on twelve logs by their gap to re-proved bounds, into docs/logs.md (four minutes; goes on where it stopped; skips logs that are not there)
	$(BIN)/python -m benchmarks.logs

borg: $(READY)   ## Figure 6 of the queues with 10^9 arrivals a point, into the ledger (half an hour on two cores)
	@mkdir -p build
	$(BIN)/schedopt reproduce msfq/figure-6 --json > build/figure-6.json
	$(BIN)/python -m benchmarks.reproduction validation/reproduce/claims.json build/figure-6.json

notebooks-student: $(READY) ## the notebooks without answers and outputs, into FOLDER=build/notebooks-student
	$(BIN)/python notebooks/student.py $(or $(FOLDER),build/notebooks-student)

docs: $(READY)   ## write docs/_reference again from the code, and the site in build/docs/index.html; warnings are errors
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs

archive: $(READY) ## verify the archive: recompute every solution and check every certificate, without a solver
	$(BIN)/schedopt archive verify

archive-file: $(READY) ## the archive as one file for a release, build/schedopt-archive.zip
	mkdir -p build && cd archive && ../$(BIN)/python -m zipfile -c ../build/schedopt-archive.zip README.md *.zip

schema: $(READY) ## write the JSON Schemas again from the record types
	$(BIN)/python -m instances.schema

agree: $(READY)  ## hold the solvers against brute force and against each other on thousands of random instances, and check 3,000 falsified results
	SCHEDOPT_TESTS=4 $(BIN)/python -m pytest -q -n auto tests/judge tests/contract tests/solvers/test_dssp_delicate.py
	PYTHONPATH=tests $(BIN)/python -m builders.forging

release-check: $(READY) ## build the package, install it into an empty environment, run the README there, build the docs (needs the network; ten minutes)
	$(BIN)/python -m benchmarks.release
	$(MAKE) docs

lock: $(READY)   ## lock the versions anew (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --extra all --extra cluster --extra docs --extra scip --group dev pyproject.toml -o requirements.lock

clean:           ## remove the files that make wrote
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find . -name "*.nb[ic]" -delete  # compiled kernels of earlier versions
