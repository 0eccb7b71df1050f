"""### What Kafka will do with the fleet, every day

Reads the fleet, predicts who gets which partitions, where records go and what a scenario costs, and fails where more is
found than the thresholds allow. Each task is a job of rebalance-sim by spark-submit, on the master of the connection
`spark_default`; each writes to `OUTPUT/logical_date=.../JOB`. More in docs/airflow.md of the project.
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
FINAL = {2: "a mistake in an option or an input", 3: "a check failed"}
"""Exit codes of the jobs after which another try would end the same."""
RUN = "{{ params.output }}/logical_date={{ date_of(dag_run) }}"
"""Folder of a run's outputs. Who reads all of them has the column logical_date."""

PARAMS = {
    "output": Param(
        "/tmp/rebalance-sim",
        type="string",
        minLength=1,
        description="folder for the outputs of all dates, on any file system that Spark has",
    ),
    "source": Param(
        "synthetic",
        enum=["kafka-tools", "bootstrap-servers", "synthetic"],
        description="where the fleet comes from",
    ),
    "location": Param(
        f"{PROJECT}/conf/fleets/small.yaml",
        type="string",
        minLength=1,
        description="of that source: the folder of what Kafka's tools printed, HOST:PORT,..., or the description of a "
        "synthetic fleet; {logical_date} in it becomes the run's",
    ),
    "groups": Param(100, type="integer", minimum=0, description="of a synthetic fleet"),
    "seed": Param(0, type="integer", description="of a synthetic fleet, and of what simulations draw"),
    "command_config": Param(None, type=["null", "string"], description="file of client properties for brokers"),
    "records": Param(
        None,
        type=["null", "string"],
        description="records table as Parquet, to partition; {logical_date} in it becomes the run's",
    ),
    "kafka_version": Param(None, type=["null", "string"], description="whose rules to follow; empty: the newest"),
    "strategy": Param("elected", type="string", minLength=1, description="elected, all, or assignors with commas"),
    "scenario": Param("rolling-restart", type="string", minLength=1, description="name, or file, of what happens"),
}
THRESHOLDS = {
    "rejected_share": (0.01, "of the rows of an input, those rejected: 0 to 1"),
    "rejects": (None, "rows that could not be used"),
    "errors": (None, "groups with an error instead of a result"),
    "ties": (None, "groups whose protocol hash order decides"),
    "imbalance": (100, "of a group: partitions of the member with most, less those of the one with fewest"),
    "idle_members": (None, "of a group: members without a partition"),
    "unsettled": (None, "groups that are not stable when the simulation ends"),
    "paused_ms": (None, "of a group: partition-milliseconds that nobody consumes"),
    "partition_load": (None, "of a partition: its load as a multiple of an even one"),
}
"""What `check` allows, and what it is about; None: it does not look."""
LIMITS = {
    f"max_{name}": Param(default, type=["null", "number"], minimum=0, description=told)
    for name, (default, told) in THRESHOLDS.items()
}


class RebalanceSimOperator(SparkSubmitOperator):
    """A job of rebalance-sim by spark-submit. What another try cannot mend is not tried again.

    An option whose template leaves it without a value is not given.
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
                raise AirflowFailException(f"{FINAL[int(exit_code[1])]}, not tried again: {failure}") from failure
            raise


def date_of(dag_run: Any) -> str:
    """Tell the logical date as part of a path; of a run without one, after when it was to run."""
    date = (dag_run.logical_date or dag_run.run_after).astimezone(UTC).replace(tzinfo=None)
    return date.isoformat().replace(":", "-")


def given(name: str) -> str:
    """Pass a param on as an option, if it has a value."""
    return f"--{name.replace('_', '-')}={{{{ '' if params.{name} is none else params.{name} }}}}"


def dated(name: str) -> str:
    """Fill the logical date into a param."""
    return f"{{{{ (params.{name} or '').replace('{{logical_date}}', date_of(dag_run)) }}}}"


with DAG(
    "rebalance_sim",
    description="Predict what Kafka will do with the fleet, and check it",
    doc_md=__doc__,
    schedule="@daily",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=timedelta(hours=6),
    # The delay between tries is Airflow's own, [core] default_task_retry_delay, and doubles.
    default_args={"retries": 2, "retry_exponential_backoff": 2, "max_retry_delay": timedelta(hours=1)},
    params=PARAMS | LIMITS,
    user_defined_macros={"date_of": date_of},
    tags=["kafka", "spark", "rebalance-sim"],
) as dag:
    fleet_tables = [f"--topics={RUN}/fleet/topics", f"--members={RUN}/fleet/members"]

    @task.short_circuit(ignore_downstream_trigger_rules=False)
    def has_records(params: dict[str, Any]) -> bool:
        """Skip `partition` where there are no records."""
        return bool(params["records"])

    fleet = RebalanceSimOperator(
        task_id="fleet",
        options=[
            f"--{{{{ params.source }}}}={dated('location')}",
            given("groups"),
            given("seed"),
            given("command_config"),
            f"--out={RUN}/fleet",
        ],
    )
    assign = RebalanceSimOperator(
        task_id="assign",
        options=[*fleet_tables, given("strategy"), given("kafka_version"), f"--out={RUN}/assign"],
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
    runs = f"--runs={RUN}/fleet,{RUN}/assign,{RUN}/simulate{{% if params.records %}},{RUN}/partition{{% endif %}}"
    report = RebalanceSimOperator(
        task_id="report",
        options=[runs, "--title={{ dag.dag_id }}, {{ date_of(dag_run) }}", f"--out={RUN}/report"],
        trigger_rule=TriggerRule.NONE_FAILED,
    )
    check = RebalanceSimOperator(
        task_id="check", options=[runs, *map(given, LIMITS)], trigger_rule=TriggerRule.NONE_FAILED
    )
    for ending in (report, check):
        [assign, simulate, partition] >> ending
    fleet >> [assign, simulate, partition]
    has_records() >> partition
