"""Does a target that holds values in types of its own have what the source has? Both sides' texts are read alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from decimal import Decimal
from typing import Any, Protocol

import psycopg
from psycopg import sql

from tests.histories.equality import PATIENCE, TABLES, Locked, Name, asking

PARENTS = TABLES.replace("c.relkind = 'r'", "c.relkind = 'p'")
PARTITIONED = f"""
SELECT * FROM ({PARENTS}) AS t (s, n, c, o) WHERE NOT EXISTS (
    SELECT FROM pg_partition_tree(format('%%I.%%I', s, n)::regclass) WHERE relid = ANY (%s::oid[]))
"""
"""Partitioned tables none of whose partitions is left out: a target shows their rows, too."""
Read = Callable[[str], Any]
Row = tuple[Any, ...]


class Held(Protocol):
    """A target whose tables are read."""

    def columns(self, name: Name) -> dict[str, str]:
        """The columns of a table, each with the type that it is held as; none: there is no such table."""
        ...

    def rows(self, name: Name, columns: Mapping[str, str]) -> list[Row]:
        """The texts of these columns; bytes are written as PostgreSQL does. columns: with their types."""
        ...


def read_as(held: str) -> Read:
    """How texts of both sides become values that are equal where the engines mean the same. held: the file's type."""
    if held.startswith(("DECIMAL", "SMALLINT", "INTEGER", "BIGINT")):
        return Decimal
    if held in ("FLOAT", "DOUBLE"):
        return lambda text: repr(float(text))
    if held == "BOOLEAN":
        return lambda text: text[0]
    if held in ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"):
        return lambda text: re.sub(r"^(\S+) \(BC\)(.*)$", r"\1\2 BC", text)
    return lambda text: text


def held_difference(
    source: str, target: AbstractContextManager[Held], but: Collection[int], *, shows_trees: bool = True
) -> str:
    """The first table of the source, but these by their ids, that a target has not, or has otherwise; "": none.

    shows_trees: partitioned tables are looked at, too. Raises Locked.
    """
    with asking(source) as here, target as there:
        here.execute(f"{PATIENCE}; SET timezone = 'UTC'; SET datestyle = 'ISO'; SET bytea_output = 'hex'")
        try:
            found = here.execute(TABLES, [list(but)]).fetchall()
            trees = here.execute(PARTITIONED, [list(but), list(but)]).fetchall() if shows_trees else []
            if found:
                names = sql.SQL(", ").join(sql.SQL("ONLY {}").format(sql.Identifier(*one[:2])) for one in found)
                here.execute(sql.SQL("LOCK TABLE {} IN ACCESS SHARE MODE").format(names))
            for schema, name, columns, types in [*found, *trees]:
                is_alone = (schema, name, columns, types) in found
                held = there.columns((schema, name))
                of = {column: text for column, text in zip(columns, types, strict=True) if column is not None}
                if held.keys() != of.keys():
                    return f"{schema}.{name} has {of}, at the target {held}"
                ours = _rows(here, (schema, name), of, held, is_alone=is_alone)
                theirs = _read(there.rows((schema, name), {column: held[column] for column in of}), of, held)
                if ours != theirs:
                    return f"{schema}.{name}: {ours - theirs} is not at the target, which has {theirs - ours}; {held}"
        except psycopg.errors.LockNotAvailable as error:
            raise Locked from error
    return ""


def _rows(here: Any, name: Name, of: Mapping[str, str], held: Mapping[str, str], *, is_alone: bool) -> Counter[Row]:
    text = "CASE WHEN {0} IS DISTINCT FROM NULL THEN format('%s', {0}) END"  # as it is written, and not as it is cast
    texts = sql.SQL(", ").join(sql.SQL(text).format(sql.Identifier(column)) for column in of)
    rows = here.execute(
        sql.SQL("SELECT {} FROM {}{}").format(texts, sql.SQL("ONLY " if is_alone else ""), sql.Identifier(*name))
    ).fetchall()
    return _read(rows, of, held)


def _read(rows: Collection[Row], of: Mapping[str, str], held: Mapping[str, str]) -> Counter[Row]:
    reads = [read_as(held[column]) for column in of]
    return Counter(
        tuple(None if value is None else read(value) for read, value in zip(reads, row, strict=True)) for row in rows
    )
