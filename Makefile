# make demo   a ReaxFF molecular dynamics run over four brokers on this machine
# make test   what one control plane shows that is made for it; `make test-pure`: only the pure rooms' tests
#      make test-all   every test: many nodes, an older Kubernetes, Helm, KEDA and metrics-server as well
#      make properties   the properties, each with ten times as many examples, other ones each time
#      make hostile   2,000 documents that attack every field, sent to an operator in pods of two nodes, as INSTALL=1 has
#                it; prints what became of them; DOCUMENTS=420: each field once
# make prove-rest   what the RESTful API promises under faults and attack, at full size, one after the other, with
#                figures: 200 keys through cut connections, 10^6 lines of output, two replicas on PostgreSQL, …;
#                REFERENCE=CHECKOUT REFERENCE_PYTHON=PYTHON: its speed on real Flux, beside flux-restful-api's
# make prove-burst   what bursts promise under faults and attack, with figures: services killed at any moment, eight
#                planners of one budget, plans that are true, brokers that do not belong to their lead, speeds, links that
#                are cut between two clusters; on real Flux too if it is on PATH
# make prove-clouds   what bursts to clouds promise, and those that cannot join, with figures: every fault and 1,000
#                random lives over each rehearsed cloud, isolated bursts, and what is sold there and really boots
# make prove-placement   how programs on two cores disturb each other, which needs a quiet machine, the paper on
#                granularity, reproduced with a hundred seeds, and what placements promise, with figures
# make prove-cosched   the learner's bound on 10,000 sequences of losses, the co-scheduler's figures with all gates,
#                ablations and the fit, and real programs that share cores: 45 jobs, and a coupled pair of MPI ranks
# make cluster   a real Kubernetes control plane on this machine, in the background; FAKE_NODES=3: with nodes
#                that kwok plays; NODES=4: with real ones, on which pods run (needs root on Linux); INSTALL=1:
#                with the operator and the metrics adapter in pods, as the chart installs them
# make cluster-down   end it
# make clusters   two with NODES=2 each, whose pods and nodes reach each other, for bursts; INSTALL=1: as above, in the
#                first one
# make clusters-down   end both
# make images   build the images of containers/ (with buildah, as root on Debian); prints their archives
# make lint   ruff, mypy and import-linter
# make manifests   write deploy/manifests and the chart's files anew (with helm, or Go, which builds it once)
# make reference   write docs/reference.md anew, from the records in minicluster/document
# make release   wheel, source distribution, chart and images with checksums, in dist/; ANYWAY=1: also of what is not
#                committed, or of a version that CHANGELOG.md does not describe
# make lock   choose versions anew and write requirements/*.txt
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
.DEFAULT_GOAL := help

.PHONY: help demo test test-all test-rest test-pure supplies properties hostile prove-rest prove-burst prove-burst-machine \
	prove-burst-clusters prove-clouds prove-placement prove-cosched cluster cluster-down clusters clusters-down images lint format manifests reference release lock clean
help:
	@sed -n 's/^# make/make/p; s/^#      /     /p' Makefile

demo: $(VENV)/.ready
	@$(BIN)/minicluster run examples/lammps-reaxff/minicluster.yaml

# Coverage is measured where it is asked for, in tests that compute: it slows down what it watches.
PURE := tests/broker_config tests/burst/lifecycle tests/burst/planning tests/burst/settings tests/document tests/malleable \
	tests/metrics_api/numbers tests/plan tests/queue_policies
# Tests type `make` as people do: not as part of this one.
PYTEST := env -u MAKEFLAGS $(BIN)/python -m pytest --dist loadfile --durations=30 --durations-min=10
# More workers than cores: tests on a cluster, or with brokers, wait for more than half of their time. With two more no
# core is idle; clusters are for few of them (tests/dealing.py), or all would be late.
REST = $(PYTEST) -n $(shell expr $$(nproc) + 2) $(PURE:%=--ignore=%)
test: test-pure
	@$(REST) --one-plane

test-all: supplies test-rest

# Beside `supplies`, where make may: workers collect meanwhile, and what is still being built they wait for.
test-rest: test-pure
	@$(REST)

# The programs and images that tests need, and their modules as pytest compiles them: once, not by each worker. What
# fails here the tests report.
supplies: $(VENV)/.ready
	@$(PYTEST) --collect-only --build -qq $(PURE:%=--ignore=%) >/dev/null || :

test-pure: $(VENV)/.ready
	@$(PYTEST) -n $(shell expr $$(nproc) + 1) --cov --cov-report=term:skip-covered $(PURE)

# Under CI the examples are the same each time: there these would prove it once.
properties: $(VENV)/.ready
	@env -u CI EXAMPLES_FACTOR=10 $(PYTEST) -n auto --timeout 3600 -m hypothesis tests

DOCUMENTS ?= 2000
HOSTILE := $(BIN)/python -m tests.devcluster --name hostile
hostile: $(VENV)/.ready
	@settings=$$($(HOSTILE) up --nodes 2 --install) && eval "$$settings" && $(PYTEST) -n 0 -s --kube-context test \
		tests/kubernetes/operator/test_hostile_documents.py --hostile-documents $(DOCUMENTS); \
		code=$$?; $(HOSTILE) down; exit $$code

# Each proof is a program of tests/restful/proofs. Behind them comes what is measured.
PROOFS := contract owner_checks replicas server_kills streams submits
REFERENCE_PYTHON ?= python3
BESIDE = $(if $(REFERENCE),--real-flux --reference $(REFERENCE) --reference-python $(REFERENCE_PYTHON))
prove-rest: $(VENV)/.ready
	@code=0; for proof in $(PROOFS); do echo "== $$proof"; \
		$(BIN)/python -m tests.restful.proofs.$$proof || code=1; done; \
		echo "== benchmarks/rest.py"; $(BIN)/python benchmarks/rest.py $(BESIDE) || code=1; exit $$code

# Each is a program of tests/burst/proofs. It prints figures, and a line of JSON.
BURST_PROOFS := one_machine service_kills budget plans wrong_partners speeds absent_hosts
# Behind them comes the whole grid of kills. Beside them come bursts between two clusters, which wait most of the time.
BURST_TESTS := tests/burst/life tests/kubernetes/burst
BURST_CLUSTERS := tests/kubernetes/pods/proofs $(wildcard tests/kubernetes/pods/test_burst*.py) \
	$(wildcard tests/kubernetes/pods/shipped/test_burst*.py)
prove-burst: $(VENV)/.ready
	@$(MAKE) --no-print-directory --jobs=2 --keep-going prove-burst-machine prove-burst-clusters

prove-burst-machine:
	@code=0; for proof in $(BURST_PROOFS); do $(BIN)/python -m tests.burst.proofs.$$proof || code=1; done; \
		$(PYTEST) $(BURST_TESTS) || code=1; exit $$code

prove-burst-clusters:
	@$(PYTEST) -s -v --prove-bursts $(BURST_CLUSTERS)

# Each is a program as well. Behind them comes what a rehearsed cloud has sold: nodes and machines that boot, join and
# run a job, in clusters with nodes.
CLOUD_PROOFS := cloud_faults cloud_schedules
ISOLATED_PROOFS := $(basename $(notdir $(wildcard tests/burst/proofs/isolated.py)))
CLOUD_BOOTS := tests/deploy/test_clouds_image.py \
	tests/kubernetes/pods/test_made_nodes.py tests/kubernetes/pods/test_burst_machines.py
prove-clouds: $(VENV)/.ready
	@code=0; for proof in $(CLOUD_PROOFS) $(ISOLATED_PROOFS); do $(BIN)/python -m tests.burst.proofs.$$proof || code=1; done; \
		$(PYTEST) -s -v --prove-bursts $(CLOUD_BOOTS) || code=1; exit $$code

# Each prints figures, and ends with 1 where a gate is missed. The first one measures, and needs a quiet machine.
PLACEMENT_PROOFS := benchmarks/interference.py benchmarks/reproduce_granularity.py benchmarks/placements.py
prove-placement: $(VENV)/.ready
	@code=0; for proof in $(PLACEMENT_PROOFS); do echo "== $$proof"; $(BIN)/python $$proof || code=1; done; \
		$(PYTEST) -s -v --prove-placement $(addprefix tests/kubernetes/pods/test_,exclusive_cores.py saving_cut.py) || \
		code=1; exit $$code

prove-cosched: $(VENV)/.ready
	@code=0; $(BIN)/python -m tests.queue_policies.proofs.cosched_bound || code=1; \
		$(BIN)/python benchmarks/reproduce_cosched.py --ablations --fit || code=1; \
		$(BIN)/python benchmarks/live_cosched.py --minutes 20 --gate || code=1; \
		$(BIN)/python benchmarks/live_coupled.py --gate || code=1; exit $$code

# eval "$$(make -s cluster)" points kubectl at it.
cluster: $(VENV)/.ready
	@$(BIN)/python -m tests.devcluster up $(if $(FAKE_NODES),--fake-nodes $(FAKE_NODES)) $(if $(NODES),--nodes $(NODES)) \
		$(if $(INSTALL),--install)

cluster-down: $(VENV)/.ready
	@$(BIN)/python -m tests.devcluster down

# eval "$$(make -s clusters)" has the first one in KUBECONFIG, the other one in FAR_KUBECONFIG.
EACH = up --reachable --nodes $(or $(NODES),2)
clusters: $(VENV)/.ready
	@$(BIN)/python -m tests.devcluster $(EACH) $(if $(INSTALL),--install)
	@far=$$($(BIN)/python -m tests.devcluster --name far $(EACH)) && echo "export FAR_$${far#export }"

clusters-down: cluster-down
	@$(BIN)/python -m tests.devcluster --name far down

images: $(VENV)/.ready
	@$(BIN)/python -m tests.devcluster images

lint: $(VENV)/.ready
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/mypy benchmarks
	@$(BIN)/lint-imports

format: $(VENV)/.ready
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# An environment is stale that does not find this directory's minicluster and pytest: its Python is gone or has
# become another version, the project was moved or copied, or the installation was cut off. With PYTHON=…, one
# of another version is stale too.
FINDS = $(BIN)/python -I -c 'import os; from importlib.util import find_spec as find; \
	assert os.path.samefile(find("minicluster").origin, "minicluster/__init__.py") and find("pytest")'
SAME = test "$$($(PYTHON) -V 2>&1)" = "$$($(BIN)/python -V 2>&1)"
ifneq ($(wildcard $(VENV)),)
STALE := $(shell { $(FINDS) $(if $(filter-out file,$(origin PYTHON)),&& $(SAME)); } >/dev/null 2>&1 || echo stale)
endif
ifneq ($(STALE),)
.PHONY: $(VENV)/.ready
endif

# One stamp: what it has is installed again when the lock or the project's own metadata changed. An environment that
# works keeps its Python: another one of the same version may have been built otherwise, and share none of its packages.
$(VENV)/.ready: requirements/lock.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("minicluster needs Python 3.11 or newer, this is %d.%d; name another: make PYTHON=/path/to/python3.12" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	@$(if $(STALE),echo "$(VENV) does not work here: of another Python or directory or cut off. It is made anew." >&2)
	@echo "Setting up $(VENV) (once) ..." >&2
	@$(if $(and $(wildcard $(BIN)/python),$(if $(STALE),,works)),,$(PYTHON) -m venv $(if $(STALE),--clear) $(VENV))
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/lock.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

manifests: $(VENV)/.ready
	@$(BIN)/python -m deploy.render

reference: $(VENV)/.ready
	@$(BIN)/python -m minicluster.document.reference examples > docs/reference.md

release: $(VENV)/.ready
	@$(BIN)/python -m deploy.release $(if $(ANYWAY),--anyway)

# --universal: one file for every platform and Python from 3.11 on; no address of an index is written. With extras:
# the pip of Python 3.11 takes the newest version for a name with extras, unless the file pins it with them.
COMPILE = $(VENV)-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-strip-extras --no-emit-index-url --no-header
lock: $(VENV)/.ready
	@$(PYTHON) -m venv $(VENV)-lock && $(VENV)-lock/bin/pip install --quiet --require-hashes -r requirements/uv.txt
	@$(COMPILE) --upgrade --all-extras pyproject.toml -o requirements/lock.txt
	@$(COMPILE) -c requirements/lock.txt pyproject.toml -o requirements/runtime.txt
	@$(COMPILE) -c requirements/lock.txt --extra rest --extra rest-postgresql pyproject.toml -o requirements/rest.txt
	@$(COMPILE) -c requirements/lock.txt --extra burst --extra rest-postgresql pyproject.toml -o requirements/burst.txt
	@$(COMPILE) -c requirements/lock.txt --extra burst --extra rest-postgresql --extra eks --extra gke pyproject.toml \
		-o requirements/clouds.txt
	@$(COMPILE) -c requirements/lock.txt --group image-build -o requirements/image-build.txt
	@$(COMPILE) --upgrade --group uv -o requirements/uv.txt
	@rm -rf $(VENV)-lock

clean:
	@rm -rf $(VENV) $(VENV)-lock .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
