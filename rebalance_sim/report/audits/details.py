"""The details of some groups of an audit: findings, election, members, who owns what, and the next rollout."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Row

from rebalance_sim.api.audit import Audit
from rebalance_sim.engine.audit.ranking import worst_row_first
from rebalance_sim.engine.audit.unread import keeps_rejected_members
from rebalance_sim.engine.runs.assumed import LIBRARY
from rebalance_sim.engine.simulation.variations import ONE_PER_CONSUMER
from rebalance_sim.kafka.assignors.by_library import Leader, leaders_assignor, library_of
from rebalance_sim.kafka.clients.library import ASSIGNORS
from rebalance_sim.kafka.group_kinds import SHARE_TYPE
from rebalance_sim.releases import SHARE_ASSIGNORS
from rebalance_sim.report.assignors import assignors_table
from rebalance_sim.report.audits.audited_run import AuditedRun, GroupKey, by_group
from rebalance_sim.report.audits.figures import Savings, figure_texts, savings_of
from rebalance_sim.report.audits.group_past import GroupPast, past_of_groups
from rebalance_sim.report.audits.group_rows import GroupRow
from rebalance_sim.report.audits.ownership import Owned, OwnedPartitions, Partition, Picture, all_owners, owners
from rebalance_sim.report.audits.reproduction import call_of, command_of, is_rollout_of_tasks, options_now
from rebalance_sim.report.audits.restarts import Restart, restarts, settings_of_consumers
from rebalance_sim.report.audits.shared_tasks import SharedTasks, shared_tasks
from rebalance_sim.report.audits.topic_lags import GroupLags, TopicLags
from rebalance_sim.report.page import Table
from rebalance_sim.tables import COMPARISON, ELECTIONS, FINDINGS, MEMBER_LAG, MEMBERS, REJECTS, VERDICTS
from rebalance_sim.wording import plural

DETAILED_GROUPS = 60
"""Groups with details: those that matter most."""
SHOWN_MEMBERS = 50
SHOWN_REJECTS = 3
_OF_VERDICT = ("group_kind", "settings", "impossible_settings", "rollout_setting", "rollout_turns")


@dataclass(frozen=True)
class FindingView:
    """A finding with its evidence."""

    row: Row
    """Of ``findings``."""
    figures: tuple[tuple[str, str], ...]
    advice: str
    settings: tuple[str, ...]
    savings: Savings
    command: str

    @property
    def title(self) -> str:
        """The kind in words."""
        return str(self.row["kind"]).replace("-", " ").capitalize()


@dataclass(frozen=True)
class Election:
    """Why a protocol won."""

    reason: str
    votes: tuple[tuple[str, int], ...]
    """Candidates with their votes, the most first."""
    members: int
    refused: tuple[tuple[str, str], ...]
    """Refused members, with the error."""


@dataclass(frozen=True)
class MemberView:
    """A member."""

    row: Row
    """Of ``members``."""
    is_leader: bool
    client: str
    """Its library and release."""
    owned: tuple[OwnedPartitions | None, ...]
    """Its partitions in each state of the group."""
    lags: tuple[int | None, ...]
    """Its lag in the states after the first."""


@dataclass(frozen=True)
class Membership:
    """The members of a group, and who owns what in each state."""

    states: tuple[str, ...]
    picture: Picture
    members: tuple[MemberView, ...]
    left_out: int
    has_lag: bool


@dataclass(frozen=True)
class GroupDetails:
    """Everything that a page shows of a group."""

    row: GroupRow
    findings: tuple[FindingView, ...]
    usual: tuple[FindingView, ...]
    """Notes of kinds that most groups of the fleet have."""
    cautions: tuple[str, ...]
    """Assumptions and rejected rows that affect this group in particular."""
    past: GroupPast | None
    """Its past rebalances; None if no history has it."""
    topics: TopicLags | None
    """Its topics, with their lag; None if none is known."""
    election: Election | None
    membership: Membership | None
    assignors: Table | None
    restart: Restart | None
    tasks: SharedTasks | None
    """What its members share instead of partitions; None for groups of consumers."""


def group_details(
    audited: AuditedRun, rows: Sequence[GroupRow], usual: Collection[str], named: Sequence[str] = ()
) -> list[GroupDetails]:
    """Return the details of groups, in their order; timelines only of the first with errors or warnings, or named.

    ``usual`` are the kinds of notes that most groups have.
    """
    return _Details(audited, rows, usual, named).groups() if rows else []


class _Details:
    """Reads what the details need, once for all groups."""

    def __init__(
        self, audited: AuditedRun, rows: Sequence[GroupRow], usual: Collection[str], named: Sequence[str]
    ) -> None:
        self.audited, self.rows, self.usual = audited, rows, usual
        keys = [row.key for row in rows]
        self.findings = audited.rows_by_group(FINDINGS, keys)
        self.elections = audited.rows_by_group(ELECTIONS, keys)
        self.comparisons = audited.rows_by_group(COMPARISON, keys)
        self.lags = audited.rows_by_group(MEMBER_LAG, keys, ("strategy", "member_id", "lag"))
        self.rejects = _rejects(audited, keys)
        record = audited.run.record
        all_members = plural(record["rows"].get("used", {}).get(MEMBERS.name, 0), "member")
        self.assumes_all_libraries = LIBRARY.format(all_members) in record["assumptions"]
        """Then the top of the page says so."""
        self.options = options_now(audited.run)
        of_verdict = audited.rows_by_group(VERDICTS, keys, _OF_VERDICT)
        verdicts = {key: rows[0] for key, rows in of_verdict.items()}
        self.kinds = {key: verdict["group_kind"] for key, verdict in verdicts.items()}
        self.settings = {key: settings_of_consumers(verdict) for key, verdict in verdicts.items()}
        self.members: Mapping[GroupKey, list[Row]] = {}
        self.assigned: dict[GroupKey, dict[str, Owned]] = {}
        rules = audited.rules
        self.has_inputs = rules is not None
        if rules is not None:
            self._predict(rules)
        self.past = past_of_groups(audited.history, keys)
        self.topics = GroupLags(audited, rows, rules)
        self.restarts = restarts(audited, rows, verdicts, rules, named)
        self.tasks = shared_tasks(audited, keys)

    def _predict(self, rules: Audit) -> None:
        """Read the members, and predict who owns what."""
        members = rules.members_of({row.group_id for row in self.rows})
        self.members = by_group(members.collect())
        better = {found for row in self.rows if (found := self._recommended(row))}
        assigned: defaultdict[GroupKey, dict[str, dict[str, list[Partition]]]] = defaultdict(dict)
        for row in rules.assignments(members, sorted(better)):
            partitions = [(each["topic"], each["partition"]) for each in row["partitions"] or ()]
            of_group = assigned[row["cluster"], row["group_id"]]
            of_group.setdefault(row["strategy"], {})[row["member_id"]] = partitions
        self.assigned = {key: dict(found) for key, found in assigned.items()}

    def _recommended(self, row: GroupRow) -> str | None:
        return recommended(self.settings.get(row.key, {}), row.strategy or "")

    def groups(self) -> list[GroupDetails]:
        return [self._group(row) for row in self.rows]

    def _group(self, row: GroupRow) -> GroupDetails:
        election = next(iter(self.elections[row.key]), None)
        ranked = sorted(self.findings[row.key], key=worst_row_first)
        return GroupDetails(
            row,
            tuple(self._views(each for each in ranked if each["kind"] not in self.usual)),
            tuple(self._views(each for each in ranked if each["kind"] in self.usual)),
            tuple(self._cautions(row)),
            self.past.get(row.key),
            self._topics(row),
            None if election is None else _election(election),
            self._membership(row, election),
            self._assignors(row),
            self.restarts.get(row.key),
            self.tasks.get(row.key),
        )

    def _views(self, rows: Iterable[Row]) -> Iterator[FindingView]:
        """Yield findings; a change of settings that removes several is advised once."""
        advised: dict[tuple[tuple[str, str], ...], str] = {}
        for row in rows:
            view, settings = self._finding(row), tuple(sorted((row["settings"] or {}).items()))
            if settings and settings in advised:
                view = replace(view, advice=f"The same change as for {advised[settings].lower()}.", settings=())
            advised.setdefault(settings, view.title)
            yield view

    def _finding(self, row: Row) -> FindingView:
        reproduce = call_of if self.audited.is_of_session else command_of
        about = row.asDict() | {"group_kind": self.kinds.get((row["cluster"], row["group_id"]))}
        return FindingView(
            row,
            figure_texts(row["figures"], of_tasks=is_rollout_of_tasks(about)),
            row["recommendation"] or "",
            tuple(_property(name, value) for name, value in (row["settings"] or {}).items()),
            savings_of(row),
            reproduce(about, self.options),
        )

    def _cautions(self, row: GroupRow) -> Iterator[str]:
        rejects = self.rejects[row.key]
        for reject in rejects[:SHOWN_REJECTS]:
            yield f"A row of {reject['table']} cannot be used: {reject['reason']}"
        if len(rejects) > SHOWN_REJECTS:
            yield f"{plural(len(rejects) - SHOWN_REJECTS, 'more row')} cannot be used."
        if row.members and not self.has_inputs:
            yield "Members and timelines are not shown: the tables that the audit read can no longer be read."
        for assumption in self.audited.run.record["assumptions"]:
            if names_group(str(assumption), row.group_id):
                yield f"Assumption: {assumption}"
        unknown = sum(member["client_library"] is None for member in self.members.get(row.key, ()))
        if unknown and row.type != SHARE_TYPE and not self.assumes_all_libraries:
            yield f"Assumption: the client library of {plural(unknown, 'member')} is unknown; Java is assumed."

    def _topics(self, row: GroupRow) -> TopicLags | None:
        after = [each for each in self.lags[row.key] if each["strategy"] == row.strategy]
        return self.topics.of(row.key, owners(_owned(self.members.get(row.key, ()))), after)

    def _membership(self, row: GroupRow, election: Row | None) -> Membership | None:
        members = self.members.get(row.key, [])
        if not members:
            return None
        before = _owned(members)
        assigned = self.assigned.get(row.key, {})
        better = self._recommended(row)
        strategies = [name for name in dict.fromkeys((row.strategy, better)) if name in assigned]
        states = [("Owns now", before), *((_state(name, better), assigned[name]) for name in strategies)]
        states = [(title, owned) for title, owned in states if any(owned.values())]
        picture = Picture.of([each for _, owned in states for several in owned.values() for each in several])
        lags = {(each["strategy"], each["member_id"]): each["lag"] for each in self.lags[row.key]}
        previous = all_owners(before)
        leader = election["leader_id"] if election else None
        ordered = sorted(members, key=lambda each: (each["join_order"] is None, each["join_order"], each["member_id"]))
        views = tuple(
            MemberView(
                member,
                member["member_id"] == leader,
                " ".join(filter(None, (member["client_library"] or "Java (assumed)", member["client_version"]))),
                tuple(picture.owned(owned.get(member["member_id"], ()), member["member_id"], previous)
                      for _, owned in states),
                tuple(lags.get((name, member["member_id"])) for name in strategies),
            )
            for member in ordered[:SHOWN_MEMBERS]
        )  # fmt: skip
        has_lag = any(lag for view in views for lag in view.lags)
        titles = tuple(title for title, _ in states)
        return Membership(titles, picture, views, max(len(members) - SHOWN_MEMBERS, 0), has_lag)

    def _assignors(self, row: GroupRow) -> Table | None:
        found = self.comparisons[row.key]
        if not found or not found[0]["strategies"]:
            return None
        # The strategy, not the protocol: a leader of another library than Java runs its own assignor of the same name.
        marks = {self._recommended(row): "recommended", row.strategy: "elected now"}
        return assignors_table("The same members under every assignor", found[0]["strategies"], row.strategy, marks)


def _owned(members: Sequence[Row]) -> Owned:
    """Return the partitions that each member owns now."""
    return {
        member["member_id"]: [(each["topic"], each["partition"]) for each in member["owned"] or ()]
        for member in members
    }


def _property(name: str, value: str) -> str:
    """Return a setting as a line of a properties file; consumers must not share an id."""
    return f"# {name}: a different one for each consumer" if value == ONE_PER_CONSUMER else f"{name}={value}"


def recommended(settings: Mapping[str, str], strategy: str) -> str | None:
    """Return another assignor that settings name, as a strategy; None if they name none that is predicted.

    ``strategy`` is the one in use: a leader of its library runs the library's own assignors.

    >>> recommended({"group.protocol": "consumer", "group.remote.assignor": "uniform"}, "range")
    'server-uniform'
    >>> recommended({"partition.assignment.strategy": "roundrobin,range"}, "librdkafka-range")
    'librdkafka-roundrobin'
    """
    if settings.get("group.protocol") == "consumer":
        return f"server-{settings.get('group.remote.assignor', 'uniform')}"
    library = library_of(strategy)
    listed = settings.get(ASSIGNORS)
    if listed is None:
        return None
    assignor = leaders_assignor(listed.split(",")[0], Leader(library, ""))
    return assignor.name if assignor.problem is None and assignor.name != strategy else None


def names_group(assumption: str, group: str) -> bool:
    """Return whether an assumption lists a group.

    >>> names_group("2 groups (a, b c) without members", "b c"), names_group("1 group (abc) has", "b")
    (True, False)
    """
    return any(f"{before}{group}{after}" in assumption for before in ("(", ", ") for after in (")", ", "))


def _rejects(audited: AuditedRun, keys: Collection[GroupKey]) -> dict[GroupKey, list[Row]]:
    """Return the rejected rows of groups: those of the audit, and those of the run that read its fleet."""
    found = audited.rows_by_group(REJECTS, keys, ("table", "reason"))
    if audited.fleet is None:
        return found
    again = keeps_rejected_members(audited.fleet.run)
    for key, rows in audited.fleet.rows_by_group(REJECTS, keys, ("table", "reason")).items():
        found[key] = [row for row in rows if not (again and row["table"] == MEMBERS.name)] + found[key]
    return found


def _state(strategy: str, better: str | None) -> str:
    if strategy in SHARE_ASSIGNORS:
        return f"Next target assignment ({strategy})"
    return f"With {strategy} (recommended)" if strategy == better else f"After the next rebalance ({strategy})"


def _election(row: Row) -> Election:
    votes = tuple(sorted(dict(row["votes"] or {}).items(), key=lambda vote: (-vote[1], vote[0])))
    refused = tuple((each["member_id"], each["error"]) for each in row["refused"] or ())
    return Election(_reason(row, votes), votes, sum(number for _, number in votes), refused)


def _reason(row: Row, votes: Sequence[tuple[str, int]]) -> str:
    protocol = row["protocol"]
    if protocol is None:
        return f"No protocol is elected: {row['error']}."
    most = votes[0][1] if votes else 0
    of_all = sum(number for _, number in votes)
    if row["type"] == SHARE_TYPE:
        return f"The coordinator assigns with {protocol}, as it does in every share group."
    if row["type"] == "consumer":
        prefer = f"{plural(most, 'member prefers', 'members prefer')} it"
        return f"The coordinator assigns with {protocol}" + (f": {prefer}." if votes and not row["tie"] else ".")
    if row["tie"]:
        tied = [name for name, number in votes if number == most]
        return f"{' and '.join(tied)} have {plural(most, 'vote')} each, so hash order decides: {protocol} wins."
    if len(row["candidates"] or ()) == 1:
        return f"{protocol} wins: it is the only protocol that all members offer."
    return (
        f"{protocol} wins with {most:,} of {plural(of_all, 'vote')}. Each member votes for the first protocol in its "
        f"list that all members offer."
    )
