# Every target that needs .venv sets it up first, and again when the pinned versions change.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.set-up
# $(call install,ENVIRONMENT): uv, where it is installed, takes a fraction of pip's time. Bytecode is written at once:
# the first runs would compile hundreds of modules, and where PYTHONDONTWRITEBYTECODE is set all of them would.
install = $(if $(shell command -v uv),uv pip install --quiet --compile-bytecode --python $(1)/bin/python,$(1)/bin/python -m pip install \
	--quiet --disable-pip-version-check)
AIRFLOW := build/airflow
CAPTURE ?= docs/examples/kafka-4.3.1
OUT ?= out
# All tests of a file run in one process, which creates shared fixtures and compiles kernels once. Files start in the
# order of tests/conftest.py rather than those with the most tests first. A process that crashes ends the run, since
# pytest-xdist would run the same test again and then wait forever.
EACH_FILE := --dist loadfile --no-loadscope-reorder --max-worker-restart 0
# The tests of the kernels come first, so that Spark's workers find them compiled.
BY_FILE := -n 2 $(EACH_FILE)
# Each process has its own Spark session, which waits for Spark's driver and workers in turn: more processes than cores.
WITH_SPARK := -n 3 $(EACH_FILE)
# What the kernels rely on: it runs first, and once.
NUMBA := tests/kafka/runtime/test_numba_internals.py
# Tests that run no rule, for which it is the same whether rules are compiled.
WITHOUT_RULES := $(addprefix --ignore tests/kafka/,wire runtime/test_numba_internals.py runtime/test_rule_keys.py \
	assignors/test_custom.py)
# Half of the time these tests wait for servers and other programs.
WITH_SERVERS := -n 4 $(EACH_FILE)
# Tests that need more than Python and Java, or more time.
REAL := oracle or cluster or scale or setup or clients or airflow or spark_cluster or browser
HERE := not ($(REAL))
# A seed draws other random cases, and the same again. Without one they are those of every run before.
RANDOM := $(if $(SEED),--seed $(SEED) --hypothesis-seed $(SEED) --hypothesis-profile fresh)

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(STAMP) ## set up .venv with all dependencies, and compile Kafka's rules
	@$(BIN)/python -m rebalance_sim.preparation

$(STAMP): requirements.txt requirements-java.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is required; none found on the PATH" >&2; exit 2; }
	@echo "setting up $(VENV) (takes minutes, once)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(call install,$(VENV)) -r requirements.txt
	@$(call install,$(VENV)) --no-deps --editable .
	@$(BIN)/python -m compileall -q -x /conf/ rebalance_sim
	@$(BIN)/python -c 'from rebalance_sim.engine.spark.java_runtime import java_home; java_home()' 2>/dev/null \
		|| $(call install,$(VENV)) -r requirements-java.txt
	@touch $@

.PHONY: airflow
airflow: $(AIRFLOW)/.set-up ## set up build/airflow, an environment with Airflow for the DAG in conf/airflow

$(AIRFLOW)/.set-up: requirements-airflow.txt
	@echo "setting up $(AIRFLOW) (takes a minute, once)"
	@test -x $(AIRFLOW)/bin/python || $(PYTHON) -m venv $(AIRFLOW)
	@$(call install,$(AIRFLOW)) -r requirements-airflow.txt
	@touch $@

.PHONY: run
run: $(STAMP) ## audit every group of a real Kafka capture, and make a page
	$(BIN)/rebalance-sim audit --kafka-tools $(CAPTURE) --out $(OUT)

.PHONY: test
test: $(STAMP) ## run the tests (at most 6 minutes on two cores; SEED=N draws other random cases)
	$(BIN)/python -m pytest $(NUMBA)
	$(BIN)/python -m pytest $(BY_FILE) $(RANDOM) -m "$(HERE)" --ignore $(NUMBA) tests/kafka
	$(BIN)/python -m pytest $(WITH_SPARK) $(RANDOM) -m "$(HERE)" --ignore tests/kafka
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest $(BY_FILE) $(RANDOM) -m "$(HERE)" $(WITHOUT_RULES) tests/kafka

.PHONY: test-change
test-change: $(STAMP) ## run of test-real what a change touches, and a part of the rest (CI_BASE=COMMIT: since then)
	$(BIN)/python -m tests.support.tiers run "$(REAL)" $(WITH_SERVERS)

.PHONY: test-real
test-real: $(STAMP) ## run the tests that need Maven, brokers, Spark or YARN clusters, other clients, Airflow, a browser or more time
	$(BIN)/python -m pytest $(WITH_SERVERS) $(if $(SEED),--seed $(SEED)) -m "($(REAL)) and not alone"
	$(BIN)/python -m pytest -m alone

.PHONY: hunt
hunt: $(STAMP) ## search for a random case with another answer than Kafka's released classes and brokers (SEED=N, default: the time)
	$(BIN)/python -m pytest $(BY_FILE) -m oracle --seed $(or $(SEED),$(shell date +%s)) --hypothesis-profile default tests/oracle
	$(BIN)/python -m pytest -m hunt --seed $(or $(SEED),$(shell date +%s)) tests/real/test_random_history.py

.PHONY: package
package: $(STAMP) ## pack the environment for the executors of a cluster into dist
	$(BIN)/python -m rebalance_sim.environment dist/rebalance-sim-environment.tar.gz

.PHONY: lint
lint: $(STAMP) ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.PHONY: format
format: $(STAMP) ## format the code and fix its style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: bench
bench: $(STAMP) ## run the benchmarks: ratios to the floor and to Kafka's own classes
	$(BIN)/python -m tests.benchmarks

.PHONY: measure
measure: $(STAMP) ## measure how long groups on a real broker take to become stable, beside the simulated times
	$(BIN)/python -m tests.support.cluster.measured_times

.PHONY: pictures
pictures: $(STAMP) ## take the pictures of the page in docs again (needs Chromium)
	$(BIN)/python -m tests.support.page_pictures

.PHONY: clean
clean: ## remove everything that was generated, including .venv
	rm -rf $(VENV) $(OUT) build dist *.egg-info
