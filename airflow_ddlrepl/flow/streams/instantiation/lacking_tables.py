"""This module says of which tables of a source a target may lack rows, values or changes, and why.

What a target lacks is stored there, as instantiations under a name of its own for each cause, until the table is loaded
again or a person has said up to where its rows are equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from airflow_ddlrepl.flow.streams.apply_process.apply import ApplyProcess
from airflow_ddlrepl.flow.streams.apply_process.suspended_tables import SOURCE_TABLES
from airflow_ddlrepl.flow.streams.instantiation.changed_rules import CHANGED
from airflow_ddlrepl.flow.streams.instantiation.instantiate import LACKING, Instantiation
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.revision import Revision

FILLED = "tables that came into the log with rows: "
REPLACED = "tables that another one has replaced: "
COMPUTED = "tables whose rows have got values of the source's own: "
INSPECTED = "tables whose schema an inspection has found: "
UNCAPTURED = "tables of which triggers have missed row changes: "
TRUNCATED = "tables whose TRUNCATE was not captured: "
INCOMPLETE = "tables of which the log lacks changes: "
UNDECIDED = "tables whose condition names what they have no more: "
_LACKS_ROWS = "may lack rows from"


class _Cause(NamedTuple):
    """A cause is why a target may lack rows of tables that are stored as instantiations under a name of its own.

    is_late: they came to lack since the table was loaded. what: the target's table is like, in words. is_failure: each
    run fails until it is loaded again.
    """

    why: str
    is_late: bool
    what: str = _LACKS_ROWS
    is_failure: bool = False


_CAUSES = {
    LACKING: _Cause("the target had the table", is_late=False),
    FILLED: _Cause(
        "it was not published, or not as it has to be, and they are not in the log",
        is_late=True,
        what="may lack changes from",
        is_failure=True,
    ),
    CHANGED: _Cause(
        "the rules that take its rows have changed, or a function that they call, and those of before are as these left"
        " them then",
        is_late=False,
    ),
    REPLACED: _Cause(
        "another table has its name since then, and the target has the rows of the former one", is_late=True
    ),
    COMPUTED: _Cause(
        "a statement gave the existing rows values that the log does not have, and the target computed its own",
        is_late=True,
        what="may have other values in rows from",
    ),
    INSPECTED: _Cause(
        "the log does not have the statement that changed the table, which an inspection has found",
        is_late=True,
        what="may have other columns, and other values in rows from",
    ),
    UNCAPTURED: _Cause(
        "triggers of a synchronous capture were off, or rows came or went without a change of a row",
        is_late=True,
        what="may lack changes from",
        is_failure=True,
    ),
    INCOMPLETE: _Cause(
        "the log lacks changes of it, or has some of sessions that are to be ignored, as somebody has changed what the"
        " source writes into it",
        is_late=True,
        what="may lack changes from",
        is_failure=True,
    ),
    UNDECIDED: _Cause(
        "the condition of a rule names a column that the table does not have any more, or has with another type",
        is_late=True,
        what="may lack changes from",
        is_failure=True,
    ),
    TRUNCATED: _Cause("a TRUNCATE of it was not captured", is_late=True, what="may have rows that are gone, from"),
}


@dataclass(frozen=True, slots=True)
class Lacking:
    """A target may lack rows of a table of the source, or values of them: those from before a position.

    why, is_late, what, is_failure: as its cause has them.
    """

    name: TableName
    at: Position
    why: str
    is_late: bool = False
    what: str = _LACKS_ROWS
    is_failure: bool = False

    def __str__(self) -> str:
        return (
            f"{self.name} {self.what} before {self.at}: {self.why}. Drop the target's table, and"
            " `ddlrepl activate` loads it again; or make the rows equal by other means, and say so by"
            " set_table_instantiation_scn"
        )


def lacking(process: ApplyProcess) -> list[Lacking]:
    """Return of which of the source's tables a target may lack rows, by the names that they have today."""
    loaded, work = stored_places(process, SOURCE_TABLES), Instantiation(process)
    now = {table.name: table.id for table in process.clients.tables}
    found: dict[tuple[str, TableName], int] = {}
    for kind in _CAUSES:
        for name, at in _named_today(process, stored_places(process, kind), now).items():
            if at > max(loaded.get(name, -1), work.given_scn(name) or -1):
                found[kind, name] = at
    return [Lacking(name, Position(at), *_CAUSES[kind]) for (kind, name), at in found.items()]


def _named_today(
    process: ApplyProcess, places: Mapping[TableName, int], now: Mapping[TableName, int]
) -> dict[TableName, int]:
    """Return places by the names that their tables have now; a table may have got its name since then."""
    run = process.clients.run
    histories = run.repository.histories(run.channel.name) if places.keys() - now.keys() else {}
    found: dict[TableName, int] = {}
    for name, at in places.items():
        names = [name] if name in now else [one for one, i in now.items() if name_after(histories[i], at) == name]
        for one in names:
            found[one] = max(at, found.get(one, at))
    return found


def name_after(revisions: Sequence[Revision], at: int) -> TableName | None:
    """Return the name that a table had behind the transaction at a position; None before it was there."""
    valid = [one for one in revisions if one.key.lsn <= at]
    return valid[-1].table.name if valid and valid[-1].table is not None else None


def stored_places(process: ApplyProcess, kind: str) -> dict[TableName, int]:
    """Return the positions that a target has stored of tables of the source, under one kind of instantiation."""
    found = process.there.instantiations(kind + process.client.name)
    return {TableName(one.owner, one.name): one.scn for one in found if one.source_database == process.clients.database}
