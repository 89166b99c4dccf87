"""What a PostgreSQL target can do with each kind of schema change: generated from the tables, for the docs."""

from __future__ import annotations

import sys

from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.opaque import Opaque
from airflow_ddlrepl.ddl.tables.change_partition_key import ChangePartitionKey
from airflow_ddlrepl.engines.postgres.ddl.render import RENDER, _nothing
from airflow_ddlrepl.engines.postgres.ddl.types import forget_type


def capabilities() -> tuple[tuple[str, str, str], ...]:
    """(kind, what the target does, what the kind means), by kind."""
    kinds: set[type[SchemaChange]] = {*RENDER, Opaque, ChangePartitionKey}
    return tuple((kind.kind, _does(kind), _means(kind)) for kind in sorted(kinds, key=lambda k: k.kind))


def _does(kind: type[SchemaChange]) -> str:
    row = RENDER.get(kind)
    if row is None:
        return "refused"
    return "nothing to do" if row in (_nothing, forget_type) else "SQL"


def _means(kind: type[SchemaChange]) -> str:
    doc = sys.modules[kind.__module__].__doc__ or ""
    return doc.strip().splitlines()[0]
