"""This module writes SQL for a 64-bit hash of a row that two servers compute alike, at a fifth of what its text costs.

Each column is hashed by its type with a seed of its own, and the hashes are the seed of one more: a value that moves
from one row, or from one column, to another changes the result. The built-in hash of a row would not do: it adds
hashes of which those of bigint and timestamps have 32 bits only, and finds 1 and 1.00 equal.
"""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.model.types import DataType, TypeKind

_DIRECT = {
    16: "hashint4extended({0}::integer, {1})",
    20: "hashint8extended({0}, hashint8extended({0} >> 32, {1}))",  # one alone folds the two halves
    21: "hashint4extended({0}, {1})",
    23: "hashint4extended({0}, {1})",
    25: 'hashtextextended({0} COLLATE "C", {1})',
    1043: 'hashtextextended({0} COLLATE "C", {1})',
    2950: "uuid_hash_extended({0}, {1})",
}
_SENT = {
    17: "{}",
    700: "float4send({})",
    701: "float8send({})",
    1082: "date_send({})",
    1083: "time_send({})",
    1114: "timestamp_send({})",
    1184: "timestamptz_send({})",
    1186: "interval_send({})",
    1266: "timetz_send({})",
    1700: "numeric_send({})",
}
"""These built-in types, by oid, are hashed by their binary values: where those are equal, the texts are, too."""

_HASHES_BYTES = 180000
"""From this version on a server has a function that hashes bytea; before, the row of one bytea has the same hash."""


_PLAIN = (114, 1042, 3802)
"""Types that are hashed by their texts, which follow from the values' bytes: json, char(n), jsonb."""


def is_hashed_by_bytes(of: DataType) -> bool:
    """Does a value of the type stay the same, as text, whatever else changes in the database?"""
    return of.is_builtin and of.kind is TypeKind.BASE and (of.id in _DIRECT or of.id in _SENT or of.id in _PLAIN)


def key_hash(sql: str) -> str:
    """Return SQL of type bigint for the hash of an integer, given as SQL."""
    return _DIRECT[20].format(f"({sql}::bigint)", 0)


def row_hash(columns: Sequence[tuple[str, DataType | None]], server_version: int) -> str:
    """Return SQL of type bigint; rows whose texts differ have different hashes, but for one in 2^64.

    columns: the SQL of each, and its type; None: it is hashed by its text. Both servers have to be given the same
    types, and to have the same encoding. The session has the settings of `connection.settings.ROWS`.
    """
    hashes = [_column_hash(sql, of, seed, server_version) for seed, (sql, of) in enumerate(columns, 1)]
    return f"hashint4extended(1, {' # '.join(hashes) or '0'})"


def _column_hash(sql: str, of: DataType | None, seed: int, server_version: int) -> str:
    """Return SQL for the hash of one column's value: 0 for NULL, which the row of NULL has as well."""
    oid = of.id if of is not None and of.is_builtin and of.kind is TypeKind.BASE else 0
    if oid in _DIRECT:
        return f"coalesce({_DIRECT[oid].format(sql, seed)}, 0)"
    if oid in _SENT and server_version >= _HASHES_BYTES:
        return f"coalesce(hashbyteaextended({_SENT[oid].format(sql)}, {seed}), 0)"
    if oid in _SENT:
        return f"hash_record_extended(ROW({_SENT[oid].format(sql)}), {seed})"
    return f'hashtextextended(ROW({sql})::text COLLATE "C", {seed})'
