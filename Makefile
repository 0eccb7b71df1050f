# Every target that needs the environment makes it first; it is made again only when the pins change.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.set-up
AIRFLOW := build/airflow
CAPTURE ?= docs/examples/kafka-4.3.1
OUT ?= out
# Two processes, each with a Spark session of its own, and a file in one of them: what its tests share is made once, what
# they compile is compiled once. The kernels' tests come first: so that Spark's workers find that ready.
BY_FILE := -n 2 --dist loadfile
# Servers and other programs are waited for half of the time.
WITH_SERVERS := -n 3 --dist loadfile
# What needs more than this machine's Python and Java, or more time.
REAL := oracle or cluster or scale or setup or clients or airflow or spark_cluster or browser
HERE := not ($(REAL))

.DEFAULT_GOAL := help

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(STAMP) ## make .venv with everything that the project needs, a Java runtime included if there is none

$(STAMP): requirements.txt requirements-java.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed, none was found on the PATH" >&2; exit 2; }
	@echo "setting up $(VENV) (some minutes, once)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@$(BIN)/python -c 'from rebalance_sim.engine.java_runtime import java_home; java_home()' 2>/dev/null \
		|| $(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-java.txt
	@touch $@

.PHONY: airflow
airflow: $(AIRFLOW)/.set-up ## make build/airflow, an environment with Airflow, to run conf/airflow

$(AIRFLOW)/.set-up: requirements-airflow.txt
	@echo "setting up $(AIRFLOW) (a minute, once)"
	@test -x $(AIRFLOW)/bin/python || $(PYTHON) -m venv $(AIRFLOW)
	@$(AIRFLOW)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-airflow.txt
	@touch $@

.PHONY: run
run: $(STAMP) ## elect and assign every group of a real Kafka capture
	$(BIN)/rebalance-sim fleet --kafka-tools $(CAPTURE) --out $(OUT)/fleet
	$(BIN)/rebalance-sim assign --topics $(OUT)/fleet/topics --members $(OUT)/fleet/members --out $(OUT)/assign

.PHONY: test
test: $(STAMP) ## run the tests (at most 10 minutes on two cores)
	$(BIN)/python -m pytest $(BY_FILE) -m "$(HERE)" tests/kafka
	$(BIN)/python -m pytest $(BY_FILE) -m "$(HERE)" --ignore tests/kafka
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest $(BY_FILE) -m "not scale" tests/kafka

.PHONY: test-real
test-real: $(STAMP) ## run the tests that need Kafka's released jars, a broker, other clients, Airflow, a browser, a fresh clone or more time, and what the pages say
	$(BIN)/python -m pytest $(WITH_SERVERS) $(if $(SEED),--seed $(SEED)) -m "($(REAL)) and not alone"
	$(BIN)/python -m pytest -m alone

.PHONY: hunt
hunt: $(STAMP) ## look for a case that Kafka's released classes answer in another way: SEED=N, or another one every time
	$(BIN)/python -m pytest $(BY_FILE) -m oracle --seed $(or $(SEED),$(shell date +%s)) --hypothesis-profile default tests/oracle

.PHONY: package
package: $(STAMP) ## pack what the executors of a Spark cluster need
	$(BIN)/python -m rebalance_sim.environment dist/rebalance-sim-environment.tar.gz

.PHONY: lint
lint: $(STAMP) ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.PHONY: format
format: $(STAMP) ## put the code into the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: bench
bench: $(STAMP) ## measure, as ratios against the floor and against Kafka's own classes
	$(BIN)/python -m tests.benchmarks

.PHONY: measure
measure: $(STAMP) ## measure how long groups on a real broker take to be stable again, beside what is simulated
	$(BIN)/python -m tests.cluster.measured_times

.PHONY: clean
clean: ## remove what was made, the environment too
	rm -rf $(VENV) $(OUT) build dist *.egg-info
