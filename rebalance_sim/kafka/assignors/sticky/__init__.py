"""``sticky`` and ``cooperative-sticky`` of the Java client.

``since_2_4`` is ``AbstractStickyAssignor``, with its two builders in ``constrained`` and ``general``; ``before_2_4`` is
the older ``StickyAssignor``. ``general`` and ``before_2_4`` share ``balance``. All of them work on one group at a time,
whose members, topics and partitions ``group`` has numbered.
"""
