"""This module decides how values of a key column compare in PostgreSQL, which equal bytes alone do not show.

Types whose equality can't be decided from the bytes (interval, citext, jsonb, arrays, collations that
ignore case, …) are left to the target.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from airflow_ddlrepl.engines.postgres.types.underlying import underlying
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import TypeDefinition, TypeKind
from airflow_ddlrepl.ports.types import Equality

_BYTE_TYPES = """\
bool, int2, int4, int8, oid, xid, xid8, cid, tid, pg_lsn, money, char, name, text, varchar, uuid, bytea, bit, varbit,
date, time, timetz, timestamp, timestamptz, inet, cidr, macaddr, macaddr8, enum"""
_BYTES = frozenset(re.split(r",\s+", _BYTE_TYPES))
_COLLATED = frozenset({"text", "varchar", "bpchar"})
_BYTEWISE_COLLATIONS = frozenset({"C", "POSIX", "default", "ucs_basic"})


def equality(column: Column, encoding: str, types: Sequence[TypeDefinition] = ()) -> Equality:
    """Return how the values of this key column compare.

    types: the definitions of the types in use.
    """
    name, _ = underlying(column.type, types)
    if name in _COLLATED and not all(map(_is_bytewise, _collations(column, types))):
        return Equality.TARGET
    if name == "numeric":
        return Equality.NUMERIC if encoding == "binary" else Equality.NUMERIC_TEXT
    if name in ("float4", "float8"):
        return Equality.FLOAT
    if name == "bpchar":
        return Equality.BLANKS
    return Equality.BYTES if name in _BYTES else Equality.TARGET


def _collations(column: Column, types: Sequence[TypeDefinition]) -> list[str]:
    """Return the collations of the column and of any domain in use (more than its own: only costs time)."""
    of_domains = [t.collation for t in types] if column.type.kind is TypeKind.DOMAIN else []
    return [name for name in (column.collation, *of_domains) if name is not None]


def _is_bytewise(collation: str) -> bool:
    """Return whether equal means equal bytes under a collation; system collations are deterministic."""
    return collation.startswith(("pg_catalog.", '"pg_catalog".')) or collation.strip('"') in _BYTEWISE_COLLATIONS
