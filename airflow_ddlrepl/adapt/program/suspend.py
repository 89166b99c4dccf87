"""A table that the target refuses a change of is suspended; so are all that have rows or columns together with it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from airflow_ddlrepl.adapt.plan_model import TablePlan
from airflow_ddlrepl.errors import DdlReplError, NameOutside, NeighbourSuspended
from airflow_ddlrepl.model.change import Event
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position
from airflow_ddlrepl.model.table_state import Cause, Suspension, TableState, TableStatus


@dataclass
class Suspensions:
    """These are the tables that a program suspends, by id; the program is built again when it finds another one.

    is_on: a refused change suspends its table; else it stops the target. found: why, of tables that the target has.
    not_created: why, of new tables that it can't create. remedies: by id, what helps besides the hint.
    """

    is_on: bool = False
    found: dict[int, Suspension] = field(default_factory=dict)
    not_created: dict[int, Suspension] = field(default_factory=dict)
    remedies: dict[int, str] = field(default_factory=dict)

    def __contains__(self, table_id: int) -> bool:
        """Is the table suspended, or known not to be created?"""
        return table_id in self.found or table_id in self.not_created

    @property
    def is_empty(self) -> bool:
        """Does the program suspend no table, and know of none that can't be created?"""
        return not self.found and not self.not_created

    def help(self, table_id: int, remedy: str) -> None:
        """Note what helps a table besides the hint of its error; empty: nothing."""
        if remedy:
            self.remedies[table_id] = remedy

    def add(self, table_id: int, error: DdlReplError, at: LogKey, until: Position) -> None:
        """Note a table to suspend before a place in the log. until: the end of what could not be applied."""
        self.found[table_id] = self._why(table_id, error, at, until)

    def add_new(self, table_id: int, error: DdlReplError, at: LogKey, until: Position) -> None:
        """Note a table that the target does not have, and can't have as it is: it waits for its first rows."""
        self.not_created[table_id] = replace(self._why(table_id, error, at, until), status=TableStatus.NEW)

    def _why(self, table_id: int, error: DdlReplError, at: LogKey, until: Position) -> Suspension:
        hint = "; ".join(filter(None, (error.hint, self.remedies.get(table_id))))
        return Suspension(at, until, error.code, error.message, hint, cause=Cause.of(error))

    def refusal(self, table_id: int, plan: TablePlan, event: Event) -> Suspension | None:
        """Return why a new table can't be created at the target: it waits for a refresh then; None: it can be."""
        error = plan.refusal() if self.is_on else None
        if error is not None and table_id not in self.not_created:
            self.add_new(table_id, error, event.key, event.end)
        return self.not_created.get(table_id)

    def due(self, table_states: Mapping[int, TableState], before: LogKey) -> Iterator[TableState]:
        """Yield the tables to suspend now, each with the partitioned tables and partitions that it belongs to."""
        for table_id, suspension in list(self.found.items()):
            if suspension.at > before or table_id not in table_states:
                continue
            for member in sorted(family(table_states.values(), [table_id])):
                one = table_states[member]
                if one.state not in (TableStatus.SUSPENDED, TableStatus.ORPHANED):
                    yield replace(one, state=TableStatus.SUSPENDED, suspension=replace(suspension, status=one.state))


@dataclass(frozen=True)
class CatchUp:
    """A catch-up brings suspended tables up to the position of their target. only: their ids. to: that position."""

    only: Collection[int]
    to: Position

    def resumed(self, table_states: Mapping[int, TableState]) -> dict[int, TableState]:
        """Return all table states of the target, with those of the catch-up as they were before their suspension."""
        return {i: _resumed(s) if i in self.only and s.suspension else s for i, s in table_states.items()}

    def own(self, table_states: Mapping[int, TableState]) -> dict[int, TableState]:
        """Return the states of the tables of the catch-up, as they were before their suspension."""
        return {i: s for i, s in self.resumed(table_states).items() if i in self.only}

    def ended(self, before: Mapping[int, TableState], after: TableState, high: Position) -> TableState:
        """Return a table's state at the end of a program up to `high`: suspended still, where that is not the end."""
        known = before.get(after.table_id) or next(s for i, s in before.items() if i in self.only and s.suspension)
        suspension = known.suspension
        if high >= self.to or suspension is None:
            return after
        # A partition that joined a suspended tree has what its transaction did to it before.
        at = max(suspension.at, LogKey(high, START_OF_TRANSACTION))
        here = replace(suspension, at=at, status=after.state)
        return replace(after, state=TableStatus.SUSPENDED, suspension=here)

    def suspension(self, before: Mapping[int, TableState]) -> Suspension | None:
        """Return the first of the suspensions that the catch-up ends. before: the target's tables before it."""
        found = [s.suspension for i, s in before.items() if i in self.only and s.suspension]
        return min(found, key=lambda one: one.at, default=None)

    def require_free(self, name: TableName, by: TableState, table_states: Mapping[int, TableState]) -> None:
        """Raise NameOutside ADP-158 or NeighbourSuspended ADP-170 when another table has the name for a table."""
        for other in table_states.values():
            if other.name == name and other.state in (TableStatus.LIVE, TableStatus.SUSPENDED):
                self.require_own(other, by)

    def require_own(self, other: TableState, by: TableState) -> None:
        """Raise NameOutside ADP-158 when a change of a table that comes after would change one that is further.

        NeighbourSuspended ADP-170: the other one is suspended, too.
        """
        if other.table_id not in self.only and other.state is TableStatus.SUSPENDED:
            raise NeighbourSuspended(
                f"{by.name} needs the name, or a type, of {other.name}, which is suspended, too",
                code="ADP-170",
                table=by.name,
                hint=f"it comes together with {other.name}",
            )
        if other.table_id not in self.only and other.state is not TableStatus.PENDING:
            raise NameOutside(
                f"{by.name} can't be brought up from the log: it had a name, or a type, that {other.name} has now",
                code="ADP-158",
                table=by.name,
                hint="`ddlrepl refresh CHANNEL.yaml --table …` loads it as it is now",
            )


def _resumed(one: TableState) -> TableState:
    assert one.suspension is not None
    return replace(one, state=one.suspension.status, suspension=None)


def family(table_states: Iterable[TableState], ids: Iterable[int]) -> set[int]:
    """Return these ids with those of the partitioned tables and the partitions of the same trees, at any depth."""
    known = list(table_states)
    links = [{s.table_id, s.shape.partition.of} for s in known if s.shape.partition]
    found = set(ids)
    while more := {i for link in links if found & link for i in link} - found:
        found |= more
    return found & {s.table_id for s in known}


def behind(table_states: Mapping[int, TableState]) -> list[TableState]:
    """Return the tables that are suspended, or isolated by a refresh, in the order of the log."""
    found = [s for s in table_states.values() if s.state is TableStatus.SUSPENDED and s.suspension is not None]
    return sorted(found, key=lambda s: (s.suspension.at if s.suspension else LogKey(0, 0), s.table_id))


def needed_from(table_states: Mapping[int, TableState], passed: Position) -> Position:
    """Return the position from which on a target needs the log: its own, `passed`, or that of a table behind it."""
    return min([passed, *(Position(s.suspension.at.lsn) for s in behind(table_states) if s.suspension)])


def suspended(table_states: Mapping[int, TableState]) -> list[TableState]:
    """Return the suspended tables, in the order of the log."""
    return [s for s in behind(table_states) if s.suspension and not s.suspension.is_isolation]


def isolated(table_states: Mapping[int, TableState]) -> list[TableState]:
    """Return the tables that a refresh has isolated, in the order of the log."""
    return [s for s in behind(table_states) if s.suspension and s.suspension.is_isolation]


def families(late: Sequence[TableState]) -> list[set[int]]:
    """Return the ids of suspended tables: those of one partitioned table together."""
    found: list[set[int]] = []
    for one in late:
        if not any(one.table_id in other for other in found):
            found.append(family(late, [one.table_id]))
    return found
