"""This module handles triggers and rules of the target's own that could change or drop the rows that are merged.

They did their work at the source. Where the role may set session_replication_role they do not fire; else those of the
role's own tables are disabled while rows are merged. What fires all the same is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.quoting import qualified
from airflow_ddlrepl.engines.postgres.merge.constraints import GRANT, Session
from airflow_ddlrepl.model.names import TableName

_FIRING = """
SELECT named.text, own.kind, own.name, own.enabled, pg_has_role(c.relowner, 'USAGE')
FROM unnest(%s::text[]) AS named(text) JOIN pg_class c ON c.oid = to_regclass(named.text)
CROSS JOIN LATERAL (
    SELECT 'TRIGGER', quote_ident(tgname), tgenabled::text FROM pg_trigger
    WHERE tgrelid = c.oid AND NOT tgisinternal AND (tgtype & 3) = 3 AND tgenabled <> 'D'
    UNION ALL SELECT 'RULE', quote_ident(rulename), ev_enabled::text FROM pg_rewrite
    WHERE ev_class = c.oid AND ev_type <> '1' AND ev_enabled <> 'D'
) AS own(kind, name, enabled)
WHERE c.relhastriggers OR c.relhasrules
ORDER BY 1, 2, 3
"""
_SILENT = """
SELECT named.text FROM unnest(%s::text[]) AS named(text) JOIN pg_class c ON c.oid = to_regclass(named.text)
WHERE NOT (c.relhastriggers OR c.relhasrules)
"""


@dataclass(frozen=True, slots=True)
class _Firing:
    """This value is a trigger before each row, or a rule, of one table. enabled: as the catalog says, O, A or R."""

    table: str
    kind: str
    name: str
    enabled: str
    is_ours: bool

    def fires(self, session: Session) -> bool:
        return self.enabled != ("R" if session.enforces else "O")

    def rests(self, session: Session) -> bool:
        """Is it one that is meant for applications, and one that this role may disable?"""
        return session.enforces and self.enabled == "O" and self.is_ours

    def __str__(self) -> str:
        return f"{self.kind.lower()} {self.name}"


@contextmanager
def at_rest(cursor: Any, names: Sequence[TableName], session: Session) -> Iterator[None]:
    """Disable, inside the `with`, what could change or drop rows of these tables; note in the session what fires."""
    found = _firing(cursor, names, session)
    resting = [one for one in found if one.rests(session)]
    for one in found:
        if one.fires(session) and one not in resting:
            session.warnings.append(
                f"{one} of the target's table {one.table} fires while rows are merged: it may change or drop them."
                + (f" Disable it, or let ddlrepl skip it: {GRANT}" if session.enforces and one.enabled == "O" else "")
            )
    for one in resting:
        cursor.execute(f"ALTER TABLE {one.table} DISABLE {one.kind} {one.name}".encode())
    yield
    for one in resting:
        cursor.execute(f"ALTER TABLE {one.table} ENABLE {one.kind} {one.name}".encode())


def note_silent(cursor: Any, names: Sequence[TableName], session: Session) -> None:
    """Note in the session which of these tables have no triggers and rules at all: thousands are asked for together.

    Only where it takes more than another session's new trigger to change rows: by default none fires for us.
    """
    if not session.enforces and len(names) > 1:
        cursor.execute(_SILENT, [[qualified(name) for name in names]])
        found = {text for (text,) in cursor.fetchall()}
        session.silent.update(name for name in names if qualified(name) in found)


def what_takes_rows(cursor: Any, name: TableName, session: Session) -> str:
    """Return what of a target's table may be why rows are missing, in words; empty where nothing is known."""
    return ", ".join(str(one) for one in _firing(cursor, [name], session) if one.fires(session))


def _firing(cursor: Any, names: Sequence[TableName], session: Session) -> list[_Firing]:
    asked = [qualified(name) for name in names if name not in session.silent]
    if not asked:
        return []
    cursor.execute(_FIRING, [asked])
    return [_Firing(*row) for row in cursor.fetchall()]
