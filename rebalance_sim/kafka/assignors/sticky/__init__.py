"""``sticky`` and ``cooperative-sticky`` of the Java client.

``since_3_0`` has two algorithms, in ``constrained`` if all members have the same subscription and in ``general``
otherwise. ``before_3_0`` is the older general algorithm, and ``constrained_before_3_0`` the one that 2.5.1 adds for
equal subscriptions. ``general`` and ``before_3_0`` share ``reassignments``. All of them work on one group at a time,
whose members, topics and partitions are numbered (``numbered_group``).
"""
