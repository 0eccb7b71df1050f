"""Guarantees of assignors whose assignments cannot be predicted."""

from enum import IntEnum, auto


class Guarantee(IntEnum):
    """A guarantee of an assignor that holds for every assignment of every group."""

    MOST_BALANCED = auto()
    """The loads are the most balanced that exist (franz-go: no path of moves leads to more balanced ones)."""
    LEAST_LOADED = auto()
    """Members keep what they own, and free partitions go to the subscriber with the fewest. Then partitions move, to
    members that have at least two fewer than the owner (Java's sticky assignor of before 2.4, and its copies)."""
    LEAST_LOADED_IN_RACKS = auto()
    """The same, but free partitions go to the subscriber with the fewest in the partition's rack (librdkafka)."""
    BALANCED_OR_LOST = auto()
    """No partition can move to a subscriber with at least two fewer than its owner; but members that share no topic
    with others may get nothing (Sarama: if moves do not improve the balance, it reverts them in a copy of the
    assignment that it then drops, and adds these members to the copy)."""
    BALANCED_TOPICS = auto()
    """The subscribers of a topic get equal numbers of its partitions, or differ by one (kafka-go's assignors)."""
    LEADERS_TOPICS_IN_TURN = auto()
    """All members get the partitions of the leader's topics in turn, each the same number of them in whatever order the
    brokers list them (KafkaJS)."""
