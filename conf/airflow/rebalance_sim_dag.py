"""### A daily prediction for the fleet

Reads the fleet and its past rebalances, audits it, predicts assignments, the partitions of records and the costs of a
scenario, and fails if the audit finds an error or a figure exceeds its limit. Each task submits a job of rebalance-sim
with the connection `spark_default` and writes to `OUTPUT/logical_date=.../JOB`. docs/airflow.md of the project has
more.
"""

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG, Context, Param, TriggerRule, task
from airflow.sdk.exceptions import AirflowException, AirflowFailException

PROJECT = os.environ.get("REBALANCE_SIM_HOME") or str(Path(__file__).resolve().parents[2])
FINAL = {
    2: "a mistake in an option or an input",
    3: "a check failed",
    4: "the audit could not read a group, or too many rows",
    5: "the audit found something new",
}
"""Exit codes of the jobs after which a retry would fail again."""
RUN = "{{ params.output }}/logical_date={{ date_of(dag_run) }}"
"""Folder of a run's outputs. Spark reads the outputs of all runs with a partition column logical_date."""

PARAMS = {
    "output": Param(
        "/tmp/rebalance-sim",
        type="string",
        minLength=1,
        description="folder for the outputs of all dates, on any file system that Spark can reach",
    ),
    "source": Param(
        "synthetic", enum=["kafka-tools", "bootstrap-servers", "synthetic"], description="source of the fleet"
    ),
    "location": Param(
        f"{PROJECT}/conf/fleets/small.yaml",
        type="string",
        minLength=1,
        description="location of the source: the folder with the output of Kafka's tools, HOST:PORT,..., or the "
        "description of a synthetic fleet; {logical_date} is replaced by the run's",
    ),
    "groups": Param(100, type="integer", minimum=0, description="number of groups of a synthetic fleet"),
    "seed": Param(0, type="integer", description="seed of a synthetic fleet and of simulations"),
    "clients": Param(
        None, type=["null", "string"], description="file with what you know of clients, for a fleet of a real cluster"
    ),
    "command_config": Param(None, type=["null", "string"], description="file of client properties for brokers"),
    "records": Param(
        None,
        type=["null", "string"],
        description="records table in Parquet, for partition; {logical_date} is replaced by the run's",
    ),
    "offsets_topic": Param(
        None,
        type=["null", "string"],
        description="__consumer_offsets, for history: kafka:HOST:PORT,... or a dump; {logical_date} is replaced by the "
        "run's",
    ),
    "kafka_version": Param(None, type=["null", "string"], description="Kafka release whose rules apply"),
    "strategy": Param("elected", type="string", minLength=1, description="elected, all, or assignors with commas"),
    "scenario": Param(
        "rolling-restart", type="string", minLength=1, description="scenario to simulate: a name or a file"
    ),
    "fail_on_new": Param(
        None,
        type=["null", "string"],
        enum=[None, "error", "warning", "note"],
        description="severity from which a finding that is new or worse than on the day before fails the run",
    ),
}
THRESHOLDS = {
    "rejected_share": (0.01, "rejected share of an input's rows, 0 to 1"),
    "rejects": (None, "rejected rows"),
    "errors": (None, "groups with an error instead of a result"),
    "ties": (None, "groups whose election is a tie"),
    "imbalance": (100, "most minus fewest partitions per member of a group"),
    "idle_members": (None, "members of a group without a partition"),
    "unstable": (None, "groups whose rollout fails or that are not stable when the simulation ends"),
    "unowned_ms": (None, "partition-milliseconds without an owner, of a group"),
    "partition_load": (None, "load of a partition, as a multiple of its topic's mean"),
}
"""Limits of `check`, with descriptions; None: not checked."""
LIMITS = {
    f"max_{name}": Param(default, type=["null", "number"], minimum=0, description=description)
    for name, (default, description) in THRESHOLDS.items()
} | {
    "max_findings": Param(
        "error=0", type=["null", "string"], description="findings of the audit, as SEVERITY=N with commas"
    )
}


class RebalanceSimOperator(SparkSubmitOperator):
    """Submits a job of rebalance-sim, and does not retry what cannot succeed.

    Options that are empty after rendering are left out.
    """

    def __init__(self, *, task_id: str, options: list[str], **kwargs: Any) -> None:
        super().__init__(
            task_id=task_id,
            application=f"{PROJECT}/jobs/{task_id}.py",
            application_args=options,
            name=f"rebalance-sim {task_id}",
            **kwargs,
        )

    def execute(self, context: Context) -> None:
        """Run the job."""
        self.application_args = [option for option in self.application_args if option.partition("=")[2]]
        try:
            super().execute(context)
        except AirflowException as failure:
            exit_code = re.search(r"Error code is: (\d+)\.", str(failure))
            if exit_code and int(exit_code[1]) in FINAL:
                raise AirflowFailException(f"{FINAL[int(exit_code[1])]}, not retried: {failure}") from failure
            raise


def date_of(dag_run: Any) -> str:
    """Return the logical date as part of a path, or the time after which a run without one was due."""
    date = (dag_run.logical_date or dag_run.run_after).astimezone(UTC).replace(tzinfo=None)
    return date.isoformat().replace(":", "-")


def given(name: str) -> str:
    """Return the option for a param; empty without a value."""
    return f"--{name.replace('_', '-')}={{{{ '' if params.{name} is none else params.{name} }}}}"


def dated(name: str) -> str:
    """Return a param with the logical date filled in."""
    return f"{{{{ (params.{name} or '').replace('{{logical_date}}', date_of(dag_run)) }}}}"


_OF_BROKERS = "{% if (params.offsets_topic or '').startswith('kafka:') %}"

with DAG(
    "rebalance_sim",
    description="Predict assignments and rebalances of the fleet, and check them against limits",
    doc_md=__doc__,
    schedule="@daily",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=timedelta(hours=6),
    # The first delay is Airflow's default ([core] default_task_retry_delay); it doubles with every retry.
    default_args={"retries": 2, "retry_exponential_backoff": 2, "max_retry_delay": timedelta(hours=1)},
    params=PARAMS | LIMITS,
    user_defined_macros={"date_of": date_of},
    tags=["kafka", "spark", "rebalance-sim"],
) as dag:
    fleet_tables = [f"--topics={RUN}/fleet/topics", f"--members={RUN}/fleet/members"]

    @task.short_circuit(ignore_downstream_trigger_rules=False)
    def has_records(params: dict[str, Any]) -> bool:
        """Skip `partition` without records."""
        return bool(params["records"])

    @task.short_circuit(ignore_downstream_trigger_rules=False)
    def has_offsets_topic(params: dict[str, Any]) -> bool:
        """Skip `history` without the topic that it reads."""
        return bool(params["offsets_topic"])

    fleet = RebalanceSimOperator(
        task_id="fleet",
        options=[
            f"--{{{{ params.source }}}}={dated('location')}",
            given("groups"),
            given("seed"),
            given("clients"),
            given("command_config"),
            f"--out={RUN}/fleet",
        ],
    )
    history = RebalanceSimOperator(
        task_id="history",
        options=[
            f"--offsets-topic={dated('offsets_topic')}",
            # Kafka compacts the topic, so the records of brokers are kept.
            f"--keep={_OF_BROKERS}{{{{ params.output }}}}/offsets-topic{{% endif %}}",
            f"--command-config={_OF_BROKERS}{{{{ params.command_config or '' }}}}{{% endif %}}",
            f"--topics={RUN}/fleet/topics",
            given("clients"),
            given("kafka_version"),
            f"--out={RUN}/history",
        ],
    )
    audit = RebalanceSimOperator(
        task_id="audit",
        options=[
            f"--fleet={RUN}/fleet",
            given("kafka_version"),
            given("seed"),
            given("max_rejected_share"),
            # The last finished one before this date; the first day there is none.
            "--previous={{ params.output }}/logical_date=*/audit",
            f"--history={{% if params.offsets_topic %}}{RUN}/history{{% endif %}}",
            given("fail_on_new"),
            f"--out={RUN}/audit",
        ],
        trigger_rule=TriggerRule.NONE_FAILED,
    )
    assign = RebalanceSimOperator(
        task_id="assign", options=[*fleet_tables, given("strategy"), given("kafka_version"), f"--out={RUN}/assign"]
    )
    simulate = RebalanceSimOperator(
        task_id="simulate",
        options=[
            *fleet_tables,
            given("scenario"),
            given("strategy"),
            given("kafka_version"),
            given("seed"),
            f"--out={RUN}/simulate",
        ],
    )
    partition = RebalanceSimOperator(
        task_id="partition",
        options=[
            f"--topics={RUN}/fleet/topics",
            f"--records={dated('records')}",
            given("seed"),
            f"--out={RUN}/partition",
        ],
    )
    done = ",".join(f"{RUN}/{job}" for job in ("audit", "fleet", "assign", "simulate"))
    runs = f"--runs={done}{{% if params.records %}},{RUN}/partition{{% endif %}}"
    report = RebalanceSimOperator(
        task_id="report",
        options=[runs, "--title={{ dag.dag_id }}, {{ date_of(dag_run) }}", f"--out={RUN}/report"],
        trigger_rule=TriggerRule.NONE_FAILED,
    )
    check = RebalanceSimOperator(
        task_id="check", options=[runs, *map(given, LIMITS)], trigger_rule=TriggerRule.NONE_FAILED
    )
    for ending in (report, check):
        [audit, assign, simulate, partition] >> ending
    fleet >> [history, audit, assign, simulate, partition]
    history >> audit
    has_records() >> partition
    has_offsets_topic() >> history
