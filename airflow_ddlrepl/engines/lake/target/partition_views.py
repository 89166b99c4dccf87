"""This module shows partitioned tables as views: the rows are in their partitions, which are tables of their own.

The views are Iceberg's, in the SQL of Spark. Each transaction that may change tables removes the channel's views first,
and adds those of the tables that it leaves.
"""

from __future__ import annotations

import json
import secrets
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection

from airflow_ddlrepl.engines.lake.catalog.entries import VIEW, add_entry, remove_views
from airflow_ddlrepl.engines.lake.catalog.metadata import columns_there
from airflow_ddlrepl.engines.lake.catalog.pointers import pointers
from airflow_ddlrepl.engines.lake.connection.location import Location, location_of
from airflow_ddlrepl.engines.lake.connection.quoting import qualified, quote
from airflow_ddlrepl.engines.lake.target.state import tree_states
from airflow_ddlrepl.engines.lake.types.physical import columns_sql, iceberg_name
from airflow_ddlrepl.model.table_state import TableState, TableStatus

_SHOWN = (TableStatus.LIVE, TableStatus.PENDING, TableStatus.SUSPENDED)


@contextmanager
def views_renewed(connection: Connection, location: str, channel: str, mark: str) -> Iterator[None]:
    """Take the channel's views away while the open transaction changes tables, and make them again at its end.

    channel: under which name its state is stored. mark: what tells its files from those of others. Raises CannotAdapt
    ADP-104 where a table has the name of a view.
    """
    place = location_of(location)
    if not pointers(place).has_views:
        yield
        return
    folder = f"{place.warehouse}/ddlrepl_views/{mark}"
    before = remove_views(connection, place.catalog, f"{folder}/")
    yield
    states = tree_states(connection, channel)
    for one in states:
        if one.shape.is_partitioned and one.state in _SHOWN:
            wanted = _view(connection, place, one, _leaves(one, states))
            path = before.get(one.name)
            if path is None or _meaning(json.loads(place.files.read(path))) != _meaning(wanted):
                at = f"{folder}/v-{secrets.token_hex(4)}"
                path = f"{at}/metadata/00000-{uuid.uuid4()}.metadata.json"
                with place.files.creating(path) as file:
                    file.write(json.dumps({**wanted, "location": at}).encode())
            add_entry(connection, place.catalog, one.name, path, kind=VIEW)


def _leaves(table: TableState, states: Sequence[TableState]) -> list[TableState]:
    """Return the partitions with rows that are below a table, at any depth."""
    parts = [one for one in states if one.shape.partition and one.shape.partition.of == table.table_id]
    return [leaf for one in parts for leaf in (_leaves(one, states) if one.shape.is_partitioned else [one])]


def _view(connection: Connection, place: Location, table: TableState, leaves: Sequence[TableState]) -> dict[str, Any]:
    """Return the metadata of the view of a table. A partition that waits for its rows may not have all its columns."""
    columns = columns_sql(table.shape)
    selects = []
    for one in leaves:
        if (metadata := pointers(place).of(connection, one.name)) is not None:
            selects.append(f"{_select(columns, columns_there(metadata, place.files))} FROM {qualified(one.name)}")
    now = int(time.time() * 1000)
    fields = [
        {"id": i, "name": name, "required": False, "type": iceberg_name(of)}
        for i, (name, of) in enumerate(columns.items(), 1)
    ]
    text = " UNION ALL ".join(selects) or f"{_select(columns, {})} WHERE false"
    version = {
        "version-id": 1,
        "timestamp-ms": now,
        "schema-id": 0,
        "summary": {"engine-name": "ddlrepl"},
        "default-namespace": [table.name.schema],
        "representations": [{"type": "sql", "sql": text, "dialect": "spark"}],
    }
    return {
        "view-uuid": str(uuid.uuid4()),
        "format-version": 1,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": fields}],
        "current-version-id": 1,
        "versions": [version],
        "version-log": [{"timestamp-ms": now, "version-id": 1}],
        "properties": {},
    }


def _select(columns: Mapping[str, str], there: Mapping[str, str]) -> str:
    def value(name: str, of: str) -> str:
        if name not in there:
            return f"CAST(NULL AS {of})"
        return quote(name) if there[name] == of else f"CAST({quote(name)} AS {of})"

    return f"SELECT {', '.join(f'{value(name, of)} AS {quote(name)}' for name, of in columns.items())}"


def _meaning(view: Mapping[str, Any]) -> object:
    (version,) = view["versions"]
    return view["schemas"], version["representations"], version["default-namespace"]
