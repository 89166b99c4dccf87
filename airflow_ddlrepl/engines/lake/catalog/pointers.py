"""This module finds the pointers to a lake's tables where its location says that they are."""

from __future__ import annotations

from functools import lru_cache

from sqlalchemy import Connection

from airflow_ddlrepl.engines.lake.catalog.jdbc_pointers import JdbcPointers
from airflow_ddlrepl.engines.lake.catalog.port import Pointers
from airflow_ddlrepl.engines.lake.connection.location import Location
from airflow_ddlrepl.model.names import TableName


@lru_cache
def pointers(place: Location) -> Pointers:
    """Return the pointers of a lake."""
    if place.rest is not None:
        from airflow_ddlrepl.engines.lake.catalog.rest_pointers import RestPointers

        return RestPointers(place, place.rest)
    if place.single is not None:
        from airflow_ddlrepl.engines.lake.catalog.piecewise_pointers import PiecewisePointers

        return PiecewisePointers(place, place.single)
    return JdbcPointers(place)


def pointer(connection: Connection, place: Location, name: TableName) -> str | None:
    """Return the path of the metadata file that readers have of a table now; None: there is none of this name."""
    return pointers(place).of(connection, name)
