"""What is assumed about a real cluster where nothing tells it, in sentences."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

JAVA_DEFAULT_PROTOCOLS = ("range", "cooperative-sticky")
"""partition.assignment.strategy of a Java consumer since 3.0 that is not configured otherwise."""
_MOST_NAMES = 5

# {} is "12 members in 4 groups".
GIVEN = "protocols of {} taken from the option protocols"
DEFAULTS = f"protocols of {{}} taken to be the Java client's default, {', '.join(JAVA_DEFAULT_PROTOCOLS)}"
USED_TOPICS = "subscription of {} taken to be the topics that their group owns or has offsets for"
NO_TOPICS = "subscription of {} is empty: their group owns no partition and has no offsets"
REBALANCING = "{} in the middle of a rebalance, so that their members and partitions may be about to change"
"""This and the next are about groups as ``groups`` tells them."""
WITHOUT_MEMBERS = "{} without members: nothing is predicted for them"


class Tallies:
    """Counts members and their groups by what is assumed of them."""

    def __init__(self) -> None:
        self._members: defaultdict[str, int] = defaultdict(int)
        self._groups: defaultdict[str, set[str]] = defaultdict(set)

    def add(self, sentence: str, group_id: str) -> None:
        """Count a member."""
        self._members[sentence] += 1
        self._groups[sentence].add(group_id)

    def told(self, sentences: Sequence[str]) -> list[str]:
        """Return, of these sentences and in their order, those of which something was counted."""
        return [each.replace("{}", self._counted(each)) for each in sentences if each in self._members]

    def _counted(self, sentence: str) -> str:
        return f"{plural(self._members[sentence], 'member')} in {plural(len(self._groups[sentence]), 'group')}"


def plural(number: int, noun: str) -> str:
    """Count.

    >>> plural(1, "group"), plural(2, "group")
    ('1 group', '2 groups')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def groups(found: set[str]) -> str:
    """Count groups and name some.

    >>> groups({"b", "a"})
    '2 groups (a, b)'
    """
    return f"{plural(len(found), 'group')} ({names(found)})"


def names(found: Iterable[str]) -> str:
    """Return the first names, and how many there are more."""
    shown = sorted(found)
    more = len(shown) - _MOST_NAMES
    return ", ".join(shown[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
