"""The verdict about a whole fleet, in one sentence."""

from collections.abc import Mapping

from rebalance_sim.engine.audit.unread import Unread
from rebalance_sim.wording import plural


def fleet_verdict(found: Mapping[str, int], affected: int, groups: int, unread: Unread) -> str:
    """Return the verdict; what could not be used comes first, and the rest is about the groups that could be read.

    ``found`` are the numbers of findings by severity, ``affected`` the number of groups with errors or warnings.

    >>> fleet_verdict({"error": 0, "warning": 3}, 2, 26, Unread(0, 26, 0, 0, 0, 0, None))
    '2 of 26 groups need attention: 3 warnings, no errors.'
    """
    first, read = f"{unread.sentence}. " if unread.sentence else "", groups - unread.groups
    if first and not read:
        return f"{first}No group could be audited."
    affected -= unread.groups
    which = f"the {plural(read, 'group')} that could be read" if unread.groups else plural(read, "group")
    if not affected:
        return f"{first}No errors and no warnings in {which}."
    numbers = {"error": found["error"] - unread.groups, "warning": found["warning"]}
    counts = " and ".join(plural(number, severity) for severity, number in numbers.items() if number)
    none = "".join(f", no {severity}s" for severity, number in numbers.items() if not number)
    need = "needs" if affected == 1 else "need"
    return f"{first}{affected:,} of {which} {need} attention: {counts}{none}."
