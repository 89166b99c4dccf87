"""This module shows partitioned tables as views: the rows are in their partitions, which are tables of their own.

The views are Iceberg's, in the SQL of Spark. Each transaction that may change tables removes the channel's views first,
and adds those of the tables that it leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from sqlalchemy import Connection

from airflow_ddlrepl.engines.lake.catalog.metadata import columns_there
from airflow_ddlrepl.engines.lake.catalog.pointers import pointers
from airflow_ddlrepl.engines.lake.catalog.views import View
from airflow_ddlrepl.engines.lake.connection.location import Location, location_of
from airflow_ddlrepl.engines.lake.connection.quoting import qualified, quote
from airflow_ddlrepl.engines.lake.target.state import tree_states
from airflow_ddlrepl.engines.lake.types.physical import columns_sql, iceberg_name
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table_state import TableState, TableStatus

_SHOWN = (TableStatus.LIVE, TableStatus.PENDING, TableStatus.SUSPENDED)


@contextmanager
def views_renewed(connection: Connection, location: str, channel: str, mark: str) -> Iterator[None]:
    """Take the channel's views away while the open transaction changes tables, and make them again at its end.

    channel: under which name its state is stored. mark: what tells its files from those of others. Raises CannotAdapt
    ADP-104 where a table has the name of a view.
    """
    place = location_of(location)
    views = pointers(place).views
    if views is None:
        yield
        return
    states = tree_states(connection, channel)
    before = views.take(connection, _shown(states), mark)
    yield
    now = tree_states(connection, channel)
    if now == states and before.keys() == _shown(now).keys():
        wanted = list(before.values())
    else:
        wanted = [_view(connection, place, one, _leaves(one, now)) for one in _shown(now).values()]
    views.show(connection, before, wanted, mark)


def _shown(states: Sequence[TableState]) -> dict[TableName, TableState]:
    """Return those of these tables that views show, by their names."""
    return {one.name: one for one in states if one.shape.is_partitioned and one.state in _SHOWN}


def _leaves(table: TableState, states: Sequence[TableState]) -> list[TableState]:
    """Return the partitions with rows that are below a table, at any depth."""
    parts = [one for one in states if one.shape.partition and one.shape.partition.of == table.table_id]
    return [leaf for one in parts for leaf in (_leaves(one, states) if one.shape.is_partitioned else [one])]


def _view(connection: Connection, place: Location, table: TableState, leaves: Sequence[TableState]) -> View:
    """Return the view of a table. A partition that waits for its rows may not have all its columns."""
    columns = columns_sql(table.shape)
    selects = []
    for one in leaves:
        if (metadata := pointers(place).of(connection, one.name)) is not None:
            selects.append(f"{_select(columns, columns_there(metadata, place.files))} FROM {qualified(one.name)}")
    text = " UNION ALL ".join(selects) or f"{_select(columns, {})} WHERE false"
    return View(table.name, tuple((name, iceberg_name(of)) for name, of in columns.items()), text)


def _select(columns: Mapping[str, str], there: Mapping[str, str]) -> str:
    def value(name: str, of: str) -> str:
        if name not in there:
            return f"CAST(NULL AS {of})"
        return quote(name) if there[name] == of else f"CAST({quote(name)} AS {of})"

    return f"SELECT {', '.join(f'{value(name, of)} AS {quote(name)}' for name, of in columns.items())}"
