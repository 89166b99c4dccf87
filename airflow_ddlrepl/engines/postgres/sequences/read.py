"""This module reads a server's sequences: how they count, how far they have come, and which defaults draw from them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from airflow_ddlrepl.engines.abilities.sequences import Choose
from airflow_ddlrepl.engines.postgres.catalog.inspect import LOCKED_SQL, spelling
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.sequence import (
    ColumnPlace,
    DbSequence,
    SequenceCatalog,
    SequenceDefault,
    SequenceDefinition,
    SequenceValue,
)

AT_ONCE = 200
"""The values of so many sequences are read by one statement."""

_OURS = """
n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'ddlrepl') AND NOT EXISTS (
    SELECT FROM pg_depend x WHERE x.classid = 'pg_class'::regclass AND x.objid = c.oid AND x.deptype = 'e')
"""
_SEQUENCES = f"""
SELECT c.oid::bigint, n.nspname, c.relname, format_type(s.seqtypid, NULL), s.seqstart, s.seqincrement, s.seqmin,
       s.seqmax, s.seqcache, s.seqcycle, t.oid::bigint, a.attnum, tn.nspname, t.relname, a.attname, d.deptype = 'i',
       coalesce(has_schema_privilege(n.oid, 'USAGE') AND has_sequence_privilege(c.oid, 'SELECT'), true),
       coalesce(has_schema_privilege(n.oid, 'USAGE') AND has_sequence_privilege(c.oid, 'UPDATE'), true)
FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.objsubid = 0
    AND d.refclassid = 'pg_class'::regclass AND d.refobjsubid > 0 AND d.deptype IN ('a', 'i')
LEFT JOIN pg_class t ON t.oid = d.refobjid LEFT JOIN pg_namespace tn ON tn.oid = t.relnamespace
LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
WHERE c.relpersistence <> 't' AND {_OURS} ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C"
"""
_DEFAULTS = f"""
SELECT c.oid::bigint, a.attnum, n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
       pg_get_expr(f.adbin, f.adrelid), s.oid::bigint, s.oid::regclass::text
FROM pg_attrdef f JOIN pg_class c ON c.oid = f.adrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum
JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid AND d.refclassid = 'pg_class'::regclass
JOIN pg_class s ON s.oid = d.refobjid AND s.relkind = 'S'
WHERE c.relpersistence <> 't' AND a.attgenerated = '' AND c.oid <> ALL (%s::bigint[]::oid[]) AND {_OURS}
ORDER BY 1, 2, 8
"""


def read_unlocked(connection: Connection[Any], choose: Choose) -> SequenceCatalog:
    """Return the sequences of a database, with the values of those that are chosen and may be read.

    It waits for nobody: what an open transaction is altering is left out. Shorter than deadlock_timeout, so that no
    user's statement is the victim.
    """
    from psycopg.errors import LockNotAvailable, UndefinedTable

    while True:
        try:
            with connection.transaction():
                connection.execute("SET LOCAL lock_timeout = '200ms'")
                locked = frozenset(int(i) for (i,) in connection.execute(LOCKED_SQL))
                return read(connection, choose, locked)
        except (LockNotAvailable, UndefinedTable):  # altered, or dropped, since it was listed
            continue


def read(connection: Connection[Any], choose: Choose, locked: frozenset[int] = frozenset()) -> SequenceCatalog:
    """Return the sequences of a database, with the values of those that are chosen and may be read.

    locked: ids of tables and sequences to leave out. A lock that can't be had passes as psycopg's error.
    """
    with connection.transaction(), spelling(connection):
        sequences = {one.id: one for one in map(_sequence, connection.execute(_SEQUENCES.encode()))}
        defaults = tuple(_defaults(connection.execute(_DEFAULTS.encode(), [list(locked)])))
        known = SequenceCatalog(sequences, defaults, locked=locked)
        chosen = [sequences[i] for i in choose(known) if i not in locked and sequences[i].may_read]
        return SequenceCatalog(sequences, defaults, dict(_values(connection, chosen)), locked)


def _sequence(row: Sequence[Any]) -> DbSequence:
    number, schema, name, kind, start, increment, least, most, cache, cycles, *rest = row
    table_id, column_id, table_schema, table, column, is_identity, may_read, may_write = rest
    owner = ColumnPlace(table_id, column_id, TableName(table_schema, table), column) if table_id is not None else None
    definition = SequenceDefinition(kind, start, increment, least, most, cache, cycles)
    return DbSequence(number, TableName(schema, name), definition, owner, bool(is_identity), may_read, may_write)


def _defaults(rows: Iterable[Sequence[Any]]) -> Iterator[SequenceDefault]:
    for (table_id, column_id), group in groupby(rows, lambda row: (row[0], row[1])):
        found = list(group)
        _, _, schema, table, column, kind, expression, _, _ = found[0]
        names = {f"{literal(text).strip()}::regclass": number for *_, number, text in found}
        at = ColumnPlace(table_id, column_id, TableName(schema, table), column)
        yield SequenceDefault(at, kind, tuple(_pieces(expression, names)))


def _pieces(expression: str, names: dict[str, int]) -> Iterator[str | int]:
    """Yield the expression's text with each constant that names a sequence replaced by the sequence's id."""
    for piece in re.split(f"({'|'.join(map(re.escape, names))})", expression):
        if piece:
            yield names.get(piece, piece)


def _values(connection: Connection[Any], sequences: Sequence[DbSequence]) -> Iterator[tuple[int, SequenceValue]]:
    """Yield the value of each sequence. Unlike `pg_sequence_last_value` it also says what comes after a RESTART.

    Raises UndefinedTable where something else may have taken a name: a query over it could run its owner's code.
    """
    for at in range(0, len(sequences), AT_ONCE):
        some = sequences[at : at + AT_ONCE]
        _hold(connection, some)
        parts = (f"SELECT {one.id}::bigint, last_value, is_called FROM {qualified(one.name)}" for one in some)
        for number, last, is_called in connection.execute(" UNION ALL ".join(parts).encode()):
            yield number, SequenceValue(last, is_called)


def _hold(connection: Connection[Any], sequences: Sequence[DbSequence]) -> None:
    """Lock sequences until the transaction ends, as any `nextval` does; then their names must still be theirs."""
    ids = [one.id for one in sequences]
    connection.execute("SELECT count(pg_sequence_last_value(i)) FROM unnest(%s::oid[]) i", [ids])
    spelled = [qualified(one.name) for one in sequences]
    (count,) = connection.execute(
        "SELECT count(*) FROM unnest(%s::oid[], %s::text[]) AS w(id, name) JOIN pg_class c ON c.oid = w.id"
        " WHERE c.relkind = 'S' AND to_regclass(w.name) = w.id",
        [ids, spelled],
    ).fetchone() or (0,)
    if count < len(ids):
        raise errors().UndefinedTable("a sequence was renamed or dropped since it was listed")
