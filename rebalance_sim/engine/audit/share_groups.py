"""Findings about share groups (KIP-932), whose coordinator assigns by one rule: nobody chooses another assignor.

More members than partitions are no fault there, as several members share a partition, and no member is idle whose
topics exist. An upgrade of the brokers is recommended where it helps: since 4.2 members keep what they have, up to
their share.
"""

from collections.abc import Iterator
from dataclasses import replace

from rebalance_sim.engine.audit.balance import IMBALANCE, topics_on_one_host
from rebalance_sim.engine.audit.finding import Finding
from rebalance_sim.engine.audit.group import Group
from rebalance_sim.engine.audit.leaders import FAILS, NOT_CONSUMED, where_not_consumed
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.releases import ShareRules, first_release

_SINCE = first_release("share", ShareRules.BALANCED)
_UPGRADE = f"Upgrade the brokers to Kafka {_SINCE} or newer"
_BEST_SPREAD = 1
"""How many partitions more than others a member with their subscription has since then."""
IMBALANCED = replace(
    IMBALANCE,
    description="{min} to {max:partition} per member under {strategy}, although all subscribe to the same topics",
    recommendation=f"{_UPGRADE}, whose coordinator gives no member more than {_BEST_SPREAD} partition more than others "
    "with its subscription.",
)
ASSIGNOR_FAILS = replace(
    FAILS,
    description="the coordinator's assignor fails, so that members get no new target assignment: {problem}",
    recommendation=f"{_UPGRADE}, whose assignor does not fail for such a group.",
)
WITHOUT_SUBSCRIBER = replace(
    NOT_CONSUMED,
    description="{unconsumed} of {partitions:partition} have no member that subscribes to their topic: {where}",
    recommendation=f"{_UPGRADE}, or let all members subscribe to the same topics.",
)


def balance_findings(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the findings about the balance of a share group."""
    yield from topics_on_one_host(group)
    today = group.balance
    if today is None or group.brokers.rules().share >= ShareRules.BALANCED:
        return
    subscriptions = {frozenset(member["subscription"] or ()) for member in group.members}
    if len(subscriptions) == 1 and today["max"] - today["min"] - _BEST_SPREAD >= thresholds.imbalance_partitions:
        figures = {name: today[name] for name in ("members", "partitions", "min", "max")}
        yield Finding(IMBALANCED, figures, {"strategy": str(group.strategy)})


def assignment_findings(group: Group) -> Iterator[Finding]:
    """Yield the findings about what the coordinator's assignor does with the group."""
    if group.prediction_error is not None and group.protocol in group.brokers.rules().share_assignors:
        yield Finding(ASSIGNOR_FAILS, names={"problem": group.prediction_error})
    today = group.balance
    if today is not None and today["unconsumed"]:
        figures = {name: today[name] for name in ("partitions", "unconsumed", "unassigned")}
        yield Finding(WITHOUT_SUBSCRIBER, figures, {"where": where_not_consumed(today)})
