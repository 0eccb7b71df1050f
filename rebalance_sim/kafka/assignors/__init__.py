"""Partition assignors by the name under which members offer them."""

from collections.abc import Callable

from rebalance_sim.kafka.assignors import range, roundrobin
from rebalance_sim.kafka.groups import Assignments, Groups, Topics
from rebalance_sim.versions import KafkaVersion

Assignor = Callable[[Groups, Topics, KafkaVersion], Assignments]

ASSIGNORS: dict[str, Assignor] = {"range": range.assign, "roundrobin": roundrobin.assign}
