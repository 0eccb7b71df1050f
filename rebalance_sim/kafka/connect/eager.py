"""Connect's eager rebalancing (``EagerAssignor``): every rebalance stops everything and assigns it anew."""

from collections.abc import Iterable, Sequence
from itertools import cycle

from rebalance_sim.kafka.runtime.strings import java_key
from rebalance_sim.kafka.wire.connect_protocol import ConnectorTaskId


def assign_eagerly(
    members: Iterable[str], connectors: Sequence[str], tasks: Sequence[ConnectorTaskId]
) -> dict[str, tuple[list[str], list[ConnectorTaskId]]]:
    """Deal the sorted connectors, and then the sorted tasks, to the members in the order of their ids.

    >>> assign_eagerly(["b", "a"], ["sink"], [ConnectorTaskId("sink", 0)])
    {'a': (['sink'], []), 'b': ([], [ConnectorTaskId(connector='sink', task=0)])}
    """
    assigned: dict[str, tuple[list[str], list[ConnectorTaskId]]] = {
        member: ([], []) for member in sorted(members, key=java_key)
    }
    turns = cycle(assigned.values())
    for connector in connectors:
        next(turns)[0].append(connector)
    for task in tasks:
        next(turns)[1].append(task)
    return assigned
