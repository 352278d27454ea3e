# make demo   a ReaxFF molecular dynamics run over four brokers on this machine
# make test   every test
# make cluster   a real Kubernetes control plane on this machine, in the background; FAKE_NODES=3: with nodes
#                that kwok plays; NODES=4: with real ones, on which pods run (needs root on Linux)
# make cluster-down   end it
# make lint   ruff, mypy and import-linter
# make manifests   write deploy/manifests and the chart's CRD anew (needs helm)
# make lock   choose versions anew and write requirements/*.txt
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
.DEFAULT_GOAL := help

.PHONY: help demo test cluster cluster-down lint format manifests lock clean
help:
	@sed -n 's/^# make/make/p; s/^#      /     /p' Makefile

demo: $(VENV)/.ready
	@$(BIN)/minicluster run examples/lammps-reaxff/minicluster.yaml

test: $(VENV)/.ready
	@$(BIN)/python -m pytest -n auto --dist loadfile --cov --cov-report=term:skip-covered \
		--durations=30 --durations-min=10 $(TESTS)

# eval "$$(make -s cluster)" points kubectl at it.
cluster: $(VENV)/.ready
	@$(BIN)/python -m tests.kubernetes.harness up $(if $(FAKE_NODES),--fake-nodes $(FAKE_NODES)) $(if $(NODES),--nodes $(NODES))

cluster-down: $(VENV)/.ready
	@$(BIN)/python -m tests.kubernetes.harness down

lint: $(VENV)/.ready
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/mypy benchmarks
	@$(BIN)/lint-imports

format: $(VENV)/.ready
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# One stamp: the environment is made again when the lock or the project's own metadata changed.
$(VENV)/.ready: requirements/lock.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("minicluster needs Python 3.11 or newer, this is %d.%d; name another: make PYTHON=/path/to/python3.12" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	@echo "Setting up $(VENV) (once) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/lock.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

manifests: $(VENV)/.ready
	@$(BIN)/python -m deploy.render

# --universal: one file for every platform and Python from 3.11 on; no address of an index is written.
lock: $(VENV)/.ready
	@$(PYTHON) -m venv $(VENV)-lock && $(VENV)-lock/bin/pip install --quiet uv
	@$(VENV)-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade \
		--no-emit-index-url --no-header --all-extras pyproject.toml -o requirements/lock.txt
	@rm -rf $(VENV)-lock

clean:
	@rm -rf $(VENV) $(VENV)-lock .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
