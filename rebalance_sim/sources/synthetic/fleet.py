"""Synthetic fleets: topics and members drawn from the distributions of a ``FleetSpec``.

Every draw is a hash of the seed, the draw's name and the numbers of its entities, mapped to its distribution by Spark
expressions. A row depends on nothing else: not on Spark's partitioning and, except for the topics that exist at that
size, not on the number of groups.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.sources.synthetic.fleet_spec import (
    ClusterSpec,
    Distribution,
    FleetSpec,
    GiantSpec,
    Lognormal,
    ProtocolLists,
    RackSpec,
    TopicSpec,
    Varying,
    Zipf,
    check_size,
)
from rebalance_sim.tables import DEFAULT_PROTOCOL_TYPE, MEMBERS, TOPICS, Table

_GROUPS_A_TASK = 25_000
_GIANT_ROWS_A_TASK = 1_000
_TOPICS_A_BLOCK = 5_000
_TOPICS_A_TASK = 20_000
_GIANTS_CLUSTER = 0
_MANY_PARTITIONS = 2**31 - 1

_Step = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True)
class SyntheticFleet:
    """The input tables of a fleet: ``topics`` and ``members``, with the columns of ``rebalance_sim.tables``."""

    topics: DataFrame
    members: DataFrame


def synthetic_fleet(
    spark: SparkSession, spec: FleetSpec, groups: int, seed: int, tasks: int | None = None
) -> SyntheticFleet:
    """Generate the fleet of a specification: ``groups`` ordinary groups and the specification's giants.

    The same specification, groups and seed always give the same rows. More groups add rows and change none. ``tasks``
    is the number of Spark partitions of each table (more if there are giants); by default it depends on the rows.

    Groups are called ``group-0``, ``giant-0``. ``owned`` contains ranges of the group's topics by join order, from the
    time when the group had one member more or fewer.

    >>> from rebalance_sim.sources.synthetic.fleet_spec import load
    >>> fleet = synthetic_fleet(spark, load("small"), groups=100, seed=1)
    >>> fleet.members.select("group_id").distinct().count()
    100

    Raises UserError for a number of groups or a seed out of range.
    """
    check_size(groups, seed)
    draws = Draws(seed)
    group_draws = _with_group_draws(spec, draws)
    ordinary = _ordinary_groups(spark, spec, draws, groups, tasks).transform(group_draws)
    members = [ordinary.withColumn("join_order", F.explode(_upto(F.col("size"))))]
    topics = [_ordinary_topics(spark, spec, draws, groups, tasks)]
    giant_topics = 0
    for index, giant in enumerate(spec.giants):
        members.append(_giant_rows(spark, index, giant, tasks).transform(group_draws))
        topics.append(_giant_topics(spark, index, giant, giant_topics, tasks))
        giant_topics += giant.topics
    return SyntheticFleet(
        reduce(DataFrame.unionByName, [rows.transform(_as_topics(spec, draws)) for rows in topics]),
        reduce(DataFrame.unionByName, [rows.transform(_as_members(spec, draws)) for rows in members]),
    )


class Draws:
    """The random draws of a fleet. The entities of a draw are numbers, such as that of a group."""

    def __init__(self, seed: int) -> None:
        self._seed = F.lit(seed).cast("long")

    def bits(self, name: str, *entities: Column) -> Column:
        """Draw 64 bits as a long."""
        return F.xxhash64(self._seed, F.lit(name), *[entity.cast("long") for entity in entities])

    def uniform(self, name: str, *entities: Column) -> Column:
        """Draw a double from 0 to below 1, with all bits of the mantissa."""
        return F.shiftrightunsigned(self.bits(name, *entities), 11) * 2.0**-53

    def happens(self, share: float, name: str, *entities: Column) -> Column:
        """Return whether an entity is in the share."""
        return self.uniform(name, *entities) < share

    def below(self, count: Column, name: str, *entities: Column) -> Column:
        """Draw a long from 0 to below the count, all equally likely."""
        return F.floor(self.uniform(name, *entities) * count)

    def number(self, distribution: Distribution[int], name: str, *entities: Column) -> Column:
        """Draw an int from a distribution."""
        uniform = self.uniform(name, *entities)
        match distribution:
            case int(value):
                drawn = F.lit(value)
            case Varying(choice=dict(weights)):
                drawn = _chosen(uniform, list(weights.items()))
            case Varying(uniform=(low, high)):
                drawn = F.lit(low) + F.floor(uniform * (high - low + 1))
            case Varying(lognormal=Lognormal(median, sigma, most)):
                # Box and Muller's normal number: its inverse distribution function has no closed form.
                turn = self.uniform(f"{name}, turn", *entities)
                normal = F.sqrt(F.log(1.0 - uniform) * -2.0) * F.cos(turn * (2 * math.pi))
                long_tailed = F.least(F.exp(normal * sigma) * median, F.lit(float(most)))
                drawn = F.greatest(F.floor(long_tailed + 0.5), F.lit(1))
            case Varying(zipf=Zipf(exponent, most)):
                drawn = _power_law(uniform, F.lit(most), exponent) + 1
        return drawn.cast("int")


def _let(value: Column, use: Callable[[Column], Column]) -> Column:
    """Use a value in several places but compute it, and generate code for it, only once."""
    return F.get(F.transform(F.array(value), use), 0)


def _chosen(uniform: Column, weighted: list[tuple[int, float]]) -> Column:
    """Map a uniform number to one of several ints in proportion to their weights."""
    *others, (last, _) = weighted
    total = math.fsum(weight for _, weight in weighted)
    ends = list(accumulate(weight / total for _, weight in others))
    if not others:
        return F.lit(last)

    def look_up(drawn: Column) -> Column:
        cases = [F.when(drawn < end, value) for end, (value, _) in zip(ends, others, strict=True)]
        return F.coalesce(*cases, F.lit(last))

    return _let(uniform, look_up)


def _power_law(uniform: Column, count: Column, exponent: float) -> Column:
    """Map a uniform number to a long from 0 to below the count, 0 the most frequent.

    With exponent 0 all are equally likely. The area under ``x ** -exponent`` from 1 to count + 1 is divided at the
    whole numbers.
    """
    low, high = _area(F.lit(1), exponent), _area(count + 1, exponent)
    area = low + uniform * (high - low)
    x = F.exp(area) if exponent == 1 else F.pow(area, 1 / (1 - exponent))
    return F.least(F.floor(x), count) - 1


def _area(x: Column, exponent: float) -> Column:
    """Return the area under ``x ** -exponent`` up to x, except for a constant factor and summand."""
    return F.log(x) if exponent == 1 else F.pow(x, 1 - exponent)


def _numbered(prefix: str, number: Column) -> Column:
    return F.concat(F.lit(prefix), number.cast("string"))


def _upto(count: Column) -> Column:
    """Return the numbers from 0 to below a count of at least 1."""
    return F.sequence(F.lit(0), count - 1)


def _range(spark: SparkSession, rows: int, rows_a_task: int, tasks: int | None) -> DataFrame:
    return spark.range(0, rows, 1, _number_of_tasks(rows, rows_a_task, tasks))


def _number_of_tasks(rows: int, rows_a_task: int, asked: int | None) -> int:
    return asked or max(1, math.ceil(rows / rows_a_task))


def _compiled_apart(rows: DataFrame) -> DataFrame:
    """Start a new generated method: the JVM does not compile methods of more than 8000 bytes.

    Nothing else changes, because rows never have as many partitions as this asks for.
    """
    return rows.coalesce(_MANY_PARTITIONS)


# Topics


def _existing_topics(spec: FleetSpec, cluster_number: Column, groups: Column) -> Column:
    """Return the number of topics of a cluster when the fleet has this number of groups."""
    if spec.topics.per_cluster is not None:
        return F.lit(spec.topics.per_cluster).cast("long")
    share = _cluster_share(spec.clusters, cluster_number)
    return F.greatest(F.ceil(share * groups * spec.topics.per_group), F.lit(1))


def _cluster_share(clusters: ClusterSpec, cluster_number: Column) -> Column:
    """Return the expected share of the groups that a cluster has."""
    start, end, all_end = cluster_number + 1, cluster_number + 2, F.lit(clusters.count + 1)
    own = _area(end, clusters.skew) - _area(start, clusters.skew)
    return own / (_area(all_end, clusters.skew) - _area(F.lit(1), clusters.skew))


def _topic_partitions(topics: TopicSpec, draws: Draws, cluster_number: Column, topic_number: Column) -> Column:
    drawn = draws.number(topics.partitions, "topic, partitions", cluster_number, topic_number)
    if not topics.without_partitions:
        return drawn
    empty = draws.happens(topics.without_partitions, "topic, none", cluster_number, topic_number)
    return F.when(empty, 0).otherwise(drawn)


def _ordinary_topics(spark: SparkSession, spec: FleetSpec, draws: Draws, groups: int, tasks: int | None) -> DataFrame:
    """Return the topics of ordinary groups as ``cluster_number, topic_number, topic, partitions``."""
    cluster_number, topic_number, first = F.col("cluster_number"), F.col("topic_number"), F.col("first")
    clusters, of_each = spec.clusters.count, spec.topics.per_cluster
    in_all = clusters * of_each if of_each else math.ceil(groups * spec.topics.per_group) + clusters
    # An upper bound for every cluster; blocks beyond the end of a cluster stay empty.
    blocks = clusters * math.ceil((of_each or in_all) / _TOPICS_A_BLOCK)
    end = F.least(first + _TOPICS_A_BLOCK, _existing_topics(spec, cluster_number, F.lit(groups)))
    return (
        _range(spark, blocks, math.ceil(blocks * _TOPICS_A_TASK / in_all), tasks)
        .select(
            (F.col("id") % clusters).alias("cluster_number"),
            (F.floor(F.col("id") / clusters) * _TOPICS_A_BLOCK).alias("first"),
        )
        .where(first < end)
        .select("cluster_number", F.explode(F.sequence(first, end - 1)).alias("topic_number"))
        .select(
            "cluster_number",
            "topic_number",
            _numbered("topic-", topic_number).alias("topic"),
            _topic_partitions(spec.topics, draws, cluster_number, topic_number).alias("partitions"),
        )
    )


def _giant_topics(spark: SparkSession, index: int, giant: GiantSpec, before: int, tasks: int | None) -> DataFrame:
    """Return the topics of a giant. Negative numbers keep its topics, and the giant, apart from ordinary ones."""
    return _range(spark, giant.topics, _GIANT_ROWS_A_TASK, tasks).select(
        F.lit(_GIANTS_CLUSTER).cast("long").alias("cluster_number"),
        (-1 - before - F.col("id")).alias("topic_number"),
        _numbered(f"giant-{index}-topic-", F.col("id")).alias("topic"),
        F.lit(giant.partitions).alias("partitions"),
    )


def _as_topics(spec: FleetSpec, draws: Draws) -> _Step:
    """Add the draws of each topic and select the columns of the table."""

    def step(topics: DataFrame) -> DataFrame:
        entity = F.col("cluster_number"), F.col("topic_number")
        columns = {
            "cluster": _numbered("cluster-", F.col("cluster_number")),
            "topic": F.col("topic"),
            "partitions": F.col("partitions"),
            "topic_id": _as_kafka_prints(_uuid(draws, "topic, id", *entity)),
            "racks": _replica_racks(spec.racks, draws, F.col("partitions"), *entity),
        }
        return topics.select(*_columns(TOPICS, columns))

    return step


def _columns(table: Table, made: dict[str, Column]) -> list[Column]:
    """Return all columns of the table with their names and types; missing ones are null."""
    nothing = F.lit(None)
    return [made.get(column.name, nothing).cast(column.type).alias(column.name) for column in table.columns]


def _uuid(draws: Draws, name: str, *entity: Column) -> Column:
    """Return a random UUID (version 4, variant 1) as 32 hexadecimal digits."""
    high = draws.bits(f"{name}, high", *entity).bitwiseAND(~0xF000).bitwiseOR(0x4000)
    low = draws.bits(f"{name}, low", *entity).bitwiseAND(2**62 - 1).bitwiseOR(-(2**63))
    return F.lower(F.lpad(F.concat(F.hex(high), F.hex(low)), 32, "0"))


def _as_kafka_prints(uuid: Column) -> Column:
    """Format a UUID as Kafka prints topic ids: URL-safe base64 without padding."""
    return F.translate(F.base64(F.unhex(uuid)), "+/=", "-_")


def _replica_racks(racks: RackSpec | None, draws: Draws, partitions: Column, *entity: Column) -> Column:
    """Return the racks of replicas: each partition starts one rack further, and its replicas continue from there."""
    if racks is None:
        return F.lit(None)
    names, count = F.array(*map(F.lit, racks.names)), F.lit(len(racks.names))
    first = draws.below(count, "topic, first rack", *entity)
    replicas = draws.number(racks.replicas, "topic, replicas", *entity)

    def placed(drawn: Column) -> Column:
        def rack_of(partition: Column, replica: Column) -> Column:
            return F.get(names, (drawn["first"] + partition + replica) % count)

        return F.transform(
            _upto(partitions),
            lambda partition: F.transform(_upto(drawn["replicas"]), lambda replica: rack_of(partition, replica)),
        )

    some = _let(F.struct(first.alias("first"), replicas.alias("replicas")), placed)
    known = F.when(partitions > 0, some).otherwise(F.array())
    return F.when(draws.happens(racks.topics, "topic, racks", *entity), known)


# Groups and members


def _ordinary_groups(spark: SparkSession, spec: FleetSpec, draws: Draws, groups: int, tasks: int | None) -> DataFrame:
    """Return ordinary groups as ``number, group_id, cluster_number, size, topics``."""
    number, clusters = F.col("number"), spec.clusters
    cluster = _power_law(draws.uniform("group, cluster", number), F.lit(clusters.count).cast("long"), clusters.skew)
    return (
        _range(spark, groups, _GROUPS_A_TASK, tasks)
        .transform(_by_name(_number_of_tasks(groups, _GROUPS_A_TASK, tasks)))
        .select(F.col("id").alias("number"))
        .select(
            "number",
            _numbered("group-", number).alias("group_id"),
            cluster.alias("cluster_number"),
            draws.number(spec.members.count, "group, members", number).alias("size"),
        )
        .transform(_with_topics(spec, draws))
    )


def _by_name(tasks: int) -> _Step:
    """Sort the numbers of groups as the names of the groups: members that are sorted by group need no exchange."""
    name = F.col("id").cast("string")

    def step(numbers: DataFrame) -> DataFrame:
        ranges = numbers.repartitionByRange(tasks, name) if tasks > 1 else numbers
        return ranges.sortWithinPartitions(name)

    return step


def _with_topics(spec: FleetSpec, draws: Draws) -> _Step:
    """Add ``topics array<struct<topic, partitions>>``: the group's subscription, ordered by topic number.

    A group chooses among the topics of a fleet in which it is the last group, so that later groups change nothing.
    """
    number, cluster_number, wanted, existing = map(F.col, ("number", "cluster_number", "wanted", "existing"))
    subscriptions = spec.subscriptions
    at_least = F.when(_differs(spec, draws), 2).otherwise(1)

    def chosen(nth: Column) -> Column:
        uniform = draws.uniform("group, topic", number, nth)
        return _power_law(uniform, existing - wanted + 1, subscriptions.popularity)

    def named(topic_number: Column) -> Column:
        return F.struct(
            _numbered("topic-", topic_number).alias("topic"),
            _topic_partitions(spec.topics, draws, cluster_number, topic_number).alias("partitions"),
        )

    # Distinct topics without redrawing: of sorted numbers that may be equal, the nth is increased by n.
    numbers = F.transform(F.sort_array(F.transform(_upto(wanted), chosen)), lambda topic, nth: topic + nth)

    def step(groups: DataFrame) -> DataFrame:
        count = _existing_topics(spec, cluster_number, number + 1)
        drawn = F.greatest(draws.number(subscriptions.topics, "group, topics", number), at_least)
        counted = groups.withColumns({"existing": count, "wanted": F.least(drawn, count)})
        return counted.transform(_compiled_apart).select(*groups.columns, F.transform(numbers, named).alias("topics"))

    return step


def _differs(spec: FleetSpec, draws: Draws) -> Column:
    return draws.happens(spec.subscriptions.differing, "group, differing", F.col("number"))


def _giant_rows(spark: SparkSession, index: int, giant: GiantSpec, tasks: int | None) -> DataFrame:
    """Return a giant with the columns of an ordinary group and ``join_order``, one row per member, from many tasks."""
    topic = F.transform(
        _upto(F.lit(giant.topics)),
        lambda nth: F.struct(
            _numbered(f"giant-{index}-topic-", nth).alias("topic"), F.lit(giant.partitions).alias("partitions")
        ),
    )
    return _range(spark, giant.members, _GIANT_ROWS_A_TASK, tasks).select(
        F.lit(-1 - index).cast("long").alias("number"),
        F.lit(f"giant-{index}").alias("group_id"),
        F.lit(_GIANTS_CLUSTER).cast("long").alias("cluster_number"),
        F.lit(giant.members).alias("size"),
        topic.alias("topics"),
        F.col("id").cast("int").alias("join_order"),
    )


def _with_group_draws(spec: FleetSpec, draws: Draws) -> _Step:
    """Add the draws that all members of a group share."""
    number, size = F.col("number"), F.col("size")
    members, racks, previous = spec.members, spec.racks, spec.previous
    kinds = [(kind, protocol_lists.weight) for kind, protocol_lists in enumerate(spec.protocols)]
    upgraded = F.least(draws.below(size - 1, "group, upgraded", number) + 1, size)
    columns = {
        "differing": _differs(spec, draws),
        "missing": draws.happens(spec.subscriptions.missing, "group, missing", number),
        "static": draws.happens(members.static, "group, static", number),
        "per_host": draws.number(members.per_host, "group, per host", number),
        "session_timeout_ms": draws.number(members.session_timeout_ms, "group, session timeout", number),
        "rebalance_timeout_ms": draws.number(members.rebalance_timeout_ms, "group, rebalance timeout", number),
        "protocol_kind": _chosen(draws.uniform("group, protocols", number), kinds),
        "upgraded_from": size - upgraded,
        "racked": draws.happens(racks.groups, "group, racks", number) if racks else F.lit(False),
    }
    if previous:
        generation = draws.number(previous.generation, "group, generation", number)
        columns["generation"] = F.when(draws.happens(previous.groups, "group, previous", number), generation)
        # One member has left since, or the last one has joined. The only member of a group is never the new one.
        left = (size == 1) | draws.happens(previous.left, "group, left", number)
        columns["previous_size"] = F.when(left, size + 1).otherwise(size - 1)
        columns["left"] = F.when(left, draws.below(size + 1, "group, who left", number))

    def step(groups: DataFrame) -> DataFrame:
        return groups.transform(_compiled_apart).withColumns(columns)

    return step


def _as_members(spec: FleetSpec, draws: Draws) -> _Step:
    """Add the draws of each member and select the columns of the table."""
    number, join_order, group_id, topics = map(F.col, ("number", "join_order", "group_id", "topics"))
    host_number, names = F.col("host_number"), F.col("subscribed")["topic"]
    instance_id = F.when(F.col("static"), F.concat(group_id, F.lit("-"), join_order.cast("string")))
    # Kafka's clients number the consumers of a process.
    nth = (join_order % F.col("per_host") + 1).cast("string")
    client_id = F.concat(F.lit("consumer-"), group_id, F.lit("-"), nth)
    missing = F.array(F.concat(F.lit("missing-topic-"), group_id))
    columns = {
        "cluster": _numbered("cluster-", F.col("cluster_number")),
        "group_id": group_id,
        "member_id": F.concat_ws("-", F.coalesce(instance_id, client_id), _dashed(F.col("uuid"))),
        "instance_id": instance_id,
        "client_id": client_id,
        "host": _host(draws, number, host_number),
        "rack": _client_rack(spec.racks, draws, number, host_number),
        "protocol_type": F.lit(DEFAULT_PROTOCOL_TYPE),
        "protocols": F.col("protocols"),
        "subscription": F.when(F.col("missing"), F.concat(names, missing)).otherwise(names),
        "join_order": join_order,
        "session_timeout_ms": F.col("session_timeout_ms"),
        "rebalance_timeout_ms": F.col("rebalance_timeout_ms"),
    }
    own = F.filter(topics, _is_subscribed(draws))
    added = {
        "uuid": _uuid(draws, "member, id", number, join_order),
        "protocols": _protocols(spec.protocols, draws),
        "host_number": F.floor(join_order / F.col("per_host")),
        "subscribed": F.when(F.col("differing") & (F.size(topics) > 1), own).otherwise(topics),
    }
    if spec.previous:
        added["slot"] = _previous_slot()
        columns["generation"] = F.when(F.col("slot").isNotNull(), F.col("generation"))
        columns["owned"] = _owned(F.col("subscribed"))

    def step(rows: DataFrame) -> DataFrame:
        drawn = rows.transform(_compiled_apart).withColumns(added).transform(_compiled_apart)
        return drawn.select(*_columns(MEMBERS, columns))

    return step


def _is_subscribed(draws: Draws) -> Callable[[Column, Column], Column]:
    """Return whether a member of a group with differing subscriptions subscribes to the nth topic.

    Neighbours in join order always differ: each subscribes to its own topic of the cycle, and not to the next.
    """
    join_order, count = F.col("join_order"), F.size("topics")

    def subscribed(_: Column, nth: Column) -> Column:
        drawn = draws.happens(0.5, "member, topic", F.col("number"), join_order, nth)
        return (nth == join_order % count) | ((nth != (join_order + 1) % count) & drawn)

    return subscribed


def _dashed(uuid: Column) -> Column:
    return F.concat_ws("-", *[F.substring(uuid, at, n) for at, n in ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))])


def _host(draws: Draws, *entity: Column) -> Column:
    """Return a private address as Kafka prints it."""
    bits = draws.bits("host", *entity)
    parts = [F.shiftright(bits, shift).bitwiseAND(255).cast("string") for shift in (0, 8, 16)]
    return F.concat(F.lit("/"), F.concat_ws(".", F.lit("10"), *parts))


def _client_rack(racks: RackSpec | None, draws: Draws, *entity: Column) -> Column:
    if racks is None:
        return F.lit(None)
    names = F.array(*map(F.lit, racks.names))
    return F.when(F.col("racked"), F.get(names, draws.below(F.lit(len(racks.names)), "host, rack", *entity)))


def _protocols(kinds: tuple[ProtocolLists, ...], draws: Draws) -> Column:
    """Return the candidate protocols of a member, by the class of its group."""
    join_order, kind = F.col("join_order"), F.col("protocol_kind")
    lists = [names for protocol_lists in kinds for names in protocol_lists.lists]
    counts = [len(protocol_lists.lists) for protocol_lists in kinds]
    firsts = list(accumulate(counts[:-1], initial=0))
    upgrading = F.get(_ints([int(protocol_lists.upgrading) for protocol_lists in kinds]), kind) == 1
    upgraded = (join_order >= F.col("upgraded_from")).cast("long")
    any_of_them = draws.below(F.get(_ints(counts), kind), "member, protocols", F.col("number"), join_order)
    nth = F.get(_ints(firsts), kind) + F.when(upgrading, upgraded).otherwise(any_of_them)
    return F.get(F.array(*[F.array(*map(F.lit, names)) for names in lists]), nth.cast("int"))


def _ints(values: list[int]) -> Column:
    return F.array(*map(F.lit, values))


def _previous_slot() -> Column:
    """Return the position of a member in the previous assignment, null if new; a departed member leaves a gap."""
    join_order, left = F.col("join_order"), F.col("left")
    moved_up = join_order + (join_order >= left).cast("int")
    known = F.when(left.isNotNull(), moved_up).when(join_order < F.col("previous_size"), join_order)
    return F.when(F.col("generation").isNotNull(), known)


def _owned(subscribed: Column) -> Column:
    """Return the previous partitions of a member: its range, by slot, of every topic in its subscription."""
    slot, previous_size = F.col("slot"), F.col("previous_size")

    def range_of(topic: Column) -> Column:
        partitions = topic["partitions"]
        length, longer = F.floor(partitions / previous_size), partitions % previous_size
        return F.struct(
            topic["topic"].alias("topic"),
            (slot * length + F.least(slot, longer)).alias("first"),
            (length + (slot < longer).cast("int")).cast("int").alias("length"),
        )

    def partitions_of(own: Column) -> Column:
        # One number too many, then cut: a sequence that ends before its start would run backwards.
        numbers = F.slice(F.sequence(own["first"], own["first"] + own["length"]), 1, own["length"])
        return F.transform(
            numbers, lambda number: F.struct(own["topic"].alias("topic"), number.cast("int").alias("partition"))
        )

    return F.when(slot.isNotNull(), F.flatten(F.transform(F.transform(subscribed, range_of), partitions_of)))
