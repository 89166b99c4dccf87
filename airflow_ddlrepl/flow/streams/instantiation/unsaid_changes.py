"""What has changed at a source, and a target that runs the texts of the statements does not get.

A statement may have given existing rows values that its text gives no other server; and a change that an inspection has
found has no text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from airflow_ddlrepl.ddl.sql.conversion import Conversion
from airflow_ddlrepl.ddl.sql.expression import is_constant, is_value
from airflow_ddlrepl.ddl.sql.statement import Evidence, evidence, with_plain_arithmetic
from airflow_ddlrepl.model.change import Event
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.ports.types import TypeSystem
from airflow_ddlrepl.sql.lexer import Kind, tokens


def computed_tables(events: Iterable[Event], types: TypeSystem) -> dict[int, Position]:
    """Return by table where statements gave rows values that the target computes by itself. types: of the source."""
    return {
        table.id: Position(event.key.lsn)
        for event in events
        for table in event.tables
        if _gives_own_values(event, table, types)
    }


def inspected_tables(events: Iterable[Event], revisions: Mapping[int, Sequence[Revision]]) -> dict[int, Position]:
    """Return by table where inspections have found other columns, another name or rows that were written again."""
    return {
        table.id: Position(event.key.lsn)
        for event in events
        for table in event.tables
        if table.id in event.rewritten or _has_changed(revisions.get(table.id, ()), event)
    }


def _has_changed(revisions: Sequence[Revision], event: Event) -> bool:
    pairs = pairwise(revisions)
    return any(later.key == event.key and former.table not in (None, later.table) for former, later in pairs)


def _gives_own_values(event: Event, after: Table, types: TypeSystem) -> bool:
    """Return whether rows of a table may have values at the source alone since a DDL event.

    Such values come from a default that is not constant, an identity, and a USING clause that is more than a cast.
    """
    if after.is_partitioned:
        return False
    known = evidence(event, after.id)
    before = next((table for table in event.before if table.id == after.id), None)
    if before is None:
        return bool(known.rewritten)
    old = {column.id for column in before.columns}
    new = [column for column in after.columns if column.id not in old and not column.generated]
    if any(_has_own_values(column, known) for column in new):
        return True
    if not known.rewritten or known.has_using is False:
        return False
    found = with_plain_arithmetic(known, before, types).conversions
    return not found or Conversion.OTHER in found.values()


def _has_own_values(column: Column, known: Evidence) -> bool:
    """Return whether existing rows show values in a new column that the same text may not give elsewhere."""
    if column.missing is not None and is_value(column.default or "", column.missing):
        return False
    is_sure = column.default is not None and is_constant(column.default) and not _says_defaults_twice(known)
    if column.missing is not None:
        return not is_sure
    has_default = column.default is not None or bool(column.identity) or _says_defaults_twice(known)
    return bool(known.rewritten) and has_default and not is_sure


def _says_defaults_twice(known: Evidence) -> bool:
    """Return whether a column may have another default now than the one that its rows have got."""
    if known.statement is None:
        return True
    words = [token.text for token in tokens(known.statement) if token.kind is Kind.WORD]
    return words.count("alter") > 1 and "default" in words
