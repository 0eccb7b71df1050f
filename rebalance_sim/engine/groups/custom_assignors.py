"""What a user's own assignor needs of Spark and Arrow; ``kafka.assignors.custom_batch`` runs it."""

import pyarrow as pa
from pyspark import cloudpickle

from rebalance_sim.errors import UserError
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.assignors.custom_batch import ClientData


def check_travels(what: str, assignor: ConsumerPartitionAssignor) -> None:
    """Raise UserError for an assignor that cannot be sent to Spark's workers."""
    try:
        cloudpickle.dumps(assignor)  # type: ignore[no-untyped-call]
    except Exception as problem:
        raise UserError(f"{what}: {type(assignor).__name__} cannot be sent to Spark's workers: {problem}") from problem


def client_data(members: pa.StructArray) -> ClientData:
    """Read what members send to the leader besides topics and owned partitions."""
    return ClientData(*(members.field(name).to_pylist() for name in ("user_data", "rack", "instance_id")))
