"""This module handles the target's own triggers and foreign keys while rows are merged.

They already did their work at the source. With the right to set session_replication_role they are off
here; without it foreign keys are checked at the end of each merge, and tables go parents first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified
from airflow_ddlrepl.engines.postgres.connection.settings import MERGE
from airflow_ddlrepl.engines.postgres.sessions.session_state import changes, state_of
from airflow_ddlrepl.errors import RowsRefused
from airflow_ddlrepl.model.names import TableName

GRANT = "GRANT SET ON PARAMETER session_replication_role TO <the target's role>"
_FOREIGN_CODE = "drop the trigger or function of the target that sets them"
_REFERENCES = """
WITH RECURSIVE keys AS (
    SELECT oid, conparentid FROM pg_constraint
    WHERE contype = 'f' AND (conrelid = ANY (%(ours)s::regclass[]) OR confrelid = ANY (%(ours)s::regclass[]))
    UNION
    SELECT c.oid, c.conparentid FROM pg_constraint c JOIN keys ON c.oid = keys.conparentid
)
"""

_HEIRS = """
SELECT named.text, c.relkind <> 'p' AND c.relhassubclass
FROM unnest(%s::text[]) AS named(text) JOIN pg_catalog.pg_class c ON c.oid = pg_catalog.to_regclass(named.text)
"""
_RESTING = """
SELECT 'TRIGGER', quote_ident(tgname) FROM pg_trigger
WHERE tgrelid = {table}::regclass AND NOT tgisinternal AND tgenabled = 'O'
UNION ALL SELECT 'RULE', quote_ident(rulename) FROM pg_rewrite
WHERE ev_class = {table}::regclass AND ev_enabled = 'O'
"""


@dataclass(slots=True)
class Session:
    """A session says how a transaction treats foreign keys.

    enforces: the target checks them. state: the settings that its rows are written under. is_watched: after each table
    these are looked at, which finds the one that changes them. warnings: what a person should know of what was written;
    they grow. silent: tables that are known to have no triggers and rules. heirs: of each table that was asked for,
    whether others inherit from it that are no partitions of it. unchecked: cursors of statements that were
    sent, each with the number of rows it has to be about; None: each statement is waited for.
    """

    enforces: bool
    state: tuple[str, ...] = ()
    is_watched: bool = False
    warnings: list[str] = field(default_factory=list, compare=False)
    silent: set[TableName] = field(default_factory=set, compare=False)
    heirs: dict[TableName, bool] = field(default_factory=dict, compare=False)
    unchecked: list[tuple[Any, int]] | None = None

    def changed(self, cursor: Any) -> str:
        """Return which of its settings somebody's code has changed; empty: none."""
        return changes(self.state, state_of(cursor))

    def look(self, cursor: Any, table: TableName) -> None:
        """Raise RowsRefused INT-130 where the work on this table has changed the session, which is watched."""
        if self.is_watched:
            self.require_unchanged(cursor, table)

    def require_unchanged(self, cursor: Any, table: TableName | None = None) -> None:
        """Raise RowsRefused INT-130 where settings were changed. table: that did it, where it is known."""
        if found := self.changed(cursor):
            what = "writing the table changes the settings" if table else "something changes the settings"
            raise RowsRefused(f"{what} of the session: {found}", code="INT-130", table=table, hint=_FOREIGN_CODE)


def prepare_session(cursor: Any, *, is_watched: bool = False) -> Session:
    """Make the settings of the open transaction for merges; return how it treats foreign keys.

    Call it first. The settings end with the transaction. is_watched: see `Session`.
    """
    cursor.execute("; ".join(f"SET LOCAL {name} = {literal(value)}" for name, value in MERGE.items()).encode())
    cursor.execute(
        "SELECT set_config('session_replication_role', 'replica', true)"
        " WHERE has_parameter_privilege('session_replication_role', 'SET')"
    )
    return Session(cursor.fetchone() is None, state_of(cursor), is_watched)


def table_order(cursor: Any, names: Sequence[TableName]) -> list[TableName]:
    """Return the tables, referenced ones before those that reference them; in a cycle as they come."""
    by_text = {qualified(name): name for name in names}
    cursor.execute(
        "SELECT child.text, parent.text FROM unnest(%(ours)s::text[]) child(text)"
        " JOIN pg_constraint c ON c.contype = 'f' AND c.conrelid = child.text::regclass"
        " JOIN unnest(%(ours)s::text[]) parent(text)"
        " ON parent.text::regclass = c.confrelid AND parent.text <> child.text",
        {"ours": list(by_text)},
    )
    before: dict[str, set[str]] = {text: set() for text in by_text}
    for child, parent in cursor.fetchall():
        before[child].add(parent)
    while True:
        try:
            return [by_text[text] for text in TopologicalSorter(before).static_order()]
        except CycleError as cycle:
            first, second = cycle.args[1][:2]  # second must come after first: forget that
            before[second].discard(first)


@contextmanager
def deferred(cursor: Any, names: Sequence[TableName], session: Session) -> Iterator[None]:
    """Check foreign keys of these tables when the `with` ends, whatever their definition says.

    Raises ForeignKeyBroken INT-104 when rows break one.
    """
    if not session.enforces:
        yield
        return
    keys = _own_immediate_keys(cursor, names)
    for table, key in keys:
        cursor.execute(f"ALTER TABLE {table} ALTER CONSTRAINT {key} DEFERRABLE".encode())
    cursor.execute("SET CONSTRAINTS ALL DEFERRED")
    yield
    cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    for table, key in keys:
        cursor.execute(f"ALTER TABLE {table} ALTER CONSTRAINT {key} NOT DEFERRABLE".encode())


@contextmanager
def resting(cursor: Any, before: TableName, after: TableName, session: Session) -> Iterator[None]:
    """Disable the table's own triggers and rules inside the `with`: they acted when the rows were first written.

    before, after: its names at the start and at the end.
    """
    found: list[tuple[str, str]] = []
    if session.enforces:
        cursor.execute(_RESTING.format(table=literal(qualified(before))).encode())
        found = cursor.fetchall()
    for kind, name in found:
        cursor.execute(f"ALTER TABLE {qualified(before)} DISABLE {kind} {name}".encode())
    yield
    for kind, name in found:
        cursor.execute(f"ALTER TABLE {qualified(after)} ENABLE {kind} {name}".encode())


def refuse_cascades(cursor: Any, name: TableName, session: Session) -> None:
    """Raise RowsRefused INT-106 when deletes of the table's rows cascade: then they can't be removed for a moment."""
    if not session.enforces:
        return
    cursor.execute(
        "SELECT conname FROM pg_constraint WHERE contype = 'f' AND confrelid = %s::regclass"
        " AND confdeltype IN ('c', 'n', 'd')",
        [qualified(name)],
    )
    found = [row[0] for row in cursor.fetchall()]
    if found:
        raise RowsRefused(
            f"keys change in a table whose deletes cascade ({', '.join(found)})",
            code="INT-106",
            table=name,
            hint=f"let ddlrepl skip the target's foreign keys while it writes: {GRANT}",
        )


def _own_immediate_keys(cursor: Any, names: Sequence[TableName]) -> list[tuple[str, str]]:
    """Return the foreign keys from or to these tables that are never deferred and that we may alter."""
    cursor.execute(
        _REFERENCES + "SELECT c.conrelid::regclass::text, quote_ident(c.conname) FROM keys"
        " JOIN pg_constraint c ON c.oid = keys.oid JOIN pg_class t ON t.oid = c.conrelid"
        " WHERE c.conparentid = 0 AND NOT c.condeferrable AND pg_has_role(t.relowner, 'USAGE')",
        {"ours": [qualified(name) for name in names]},
    )
    return [(table, key) for table, key in cursor.fetchall()]


def rows_of(cursor: Any, names: Iterable[TableName], session: Session) -> dict[TableName, str]:
    """Return, for each of these tables, what a statement about all its rows names.

    Not the rows of other tables that inherit from it, but those of the partitions that people have made of it.
    """
    names = list(names)
    note_heirs(cursor, names, session)
    return {name: f"ONLY {qualified(name)}" if session.heirs.get(name) else qualified(name) for name in names}


def note_heirs(cursor: Any, names: Iterable[TableName], session: Session) -> None:
    """Note in the session from which of these tables others inherit; it asks for each table that is there once."""
    asked = {qualified(name): name for name in names if name not in session.heirs}
    if asked:
        cursor.execute(_HEIRS, [[*asked]])
        session.heirs.update({asked[text]: has_some for text, has_some in cursor.fetchall()})
