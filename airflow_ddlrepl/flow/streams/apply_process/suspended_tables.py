"""A table is suspended at an apply process's target from where the source could not send a transaction of it.

Changes behind that place would meet rows that the target does not have, so they are left out, too, until the table is
loaded again, or a person says that its rows are equal. All other tables go on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from airflow_ddlrepl.engines.abilities.lcr_target import LcrTarget
from airflow_ddlrepl.errors import ApplyError
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.streams.rules.client import Client

SOURCE_TABLES = "tables of the source: "
"""Behind it stands the client's name where the tables are named as at the source, not as in the queue."""
LEFT_OUT = "tables of which a transaction was left out: "
"""Behind it stands the client's name where the source could not send a transaction of tables, named as at its place."""
_REASON = "a transaction there has a change that is larger than the source can send"
HINT = (
    "drop the target's table, and `ddlrepl activate` loads it again; or make its rows equal, and say up to where by"
    " set_table_instantiation_scn"
)


@dataclass(frozen=True, slots=True)
class SuspendedTable:
    """A suspended table gets no changes from a position on. name: of today, at the source."""

    table_id: int
    name: TableName
    at: Position

    def __str__(self) -> str:
        return f"{self.name} gets no changes from {self.at} on: {_REASON}. {HINT[0].upper()}{HINT[1:]}"


def suspended_tables(clients: StreamsClients, there: LcrTarget, client: Client) -> list[SuspendedTable]:
    """Return the source's tables that are suspended at an apply process's target."""
    marks = _places(clients, there, LEFT_OUT + client.name)
    if not marks:
        return []
    settings = clients.environment.apply_settings(client.name)
    loaded = _places(clients, there, SOURCE_TABLES + client.name)
    found = []
    for revisions in clients.run.repository.histories(clients.run.channel.name).values():
        now, at = revisions[-1].table, _last_of(marks, revisions)
        if now is not None and at is not None:
            given = settings.given_scn(clients.database, now.name.schema, now.name.name)
            if at > max(given or -1, _last_of(loaded, revisions) or -1):
                found.append(SuspendedTable(now.id, now.name, Position(at)))
    return sorted(found, key=lambda one: one.name)


def require_none(suspended: Sequence[SuspendedTable]) -> None:
    """Raise ApplyError APL-122 where tables are suspended."""
    if suspended:
        first, *others = suspended
        raise ApplyError(
            f"{first.name} is suspended at {first.at}: {_REASON}, and was left out{_and_others(others)};"
            " all other tables go on",
            code="APL-122",
            table=first.name,
            at=first.at,
            hint=HINT,
        )


def _and_others(others: Sequence[SuspendedTable]) -> str:
    return f"; so are {', '.join(str(one.name) for one in others)}" if others else ""


def _places(clients: StreamsClients, there: LcrTarget, client: str) -> dict[TableName, int]:
    found = there.instantiations(client)
    return {TableName(one.owner, one.name): one.scn for one in found if one.source_database == clients.database}


def _last_of(places: Mapping[TableName, int], revisions: Sequence[Revision]) -> int | None:
    """Return the last of the places, each of the table that had the name there, that are of one table."""
    names = {revision.table.name for revision in revisions if revision.table is not None}
    own = (places[name] for name in names if name in places and name_at(revisions, Position(places[name])) == name)
    return max(own, default=None)


def name_at(revisions: Sequence[Revision], at: Position) -> TableName | None:
    """Return the name that a table had at a position, or else the first one that is known of it."""
    valid = [one for one in revisions if one.key <= LogKey(at, START_OF_TRANSACTION)] or revisions[:1]
    return valid[-1].table.name if valid and valid[-1].table is not None else None
