"""The order in which librdkafka sorts the members of a group (``rd_kafka_group_member_cmp``, 1.3 to 2.16).

It compares instance ids if both members are static, and member ids otherwise. That is not a total order: a static
member with the smaller instance id can have the larger member id, with a dynamic member between the two. The result
then depends on ``qsort``; here it is that of glibc, a merge sort.
"""

from rebalance_sim.kafka.assignors.steps.join_response import merge_sort
from rebalance_sim.kafka.groups import Groups
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints32


@kernel
def sort_members(order: Ints32, sections: Ints32, groups: Groups) -> None:
    """Sort the members in each ``order[sections[s]:sections[s + 1]]``, in place."""
    for s in range(len(sections) - 1):
        merge_sort(order[sections[s] : sections[s + 1]], groups)
