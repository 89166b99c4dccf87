"""This module opens the catalog of a lake that changes one table at a time."""

from __future__ import annotations

from functools import lru_cache

from airflow_ddlrepl.engines.lake.catalog.piecewise.hadoop import HadoopCatalog
from airflow_ddlrepl.engines.lake.catalog.piecewise.port import OneByOne
from airflow_ddlrepl.engines.lake.connection.location import Location
from airflow_ddlrepl.engines.lake.connection.single_catalog import SingleCatalog


@lru_cache
def catalog_of(place: Location, named: SingleCatalog) -> OneByOne:
    """Return the catalog that a location names."""
    if named.kind == "hive":
        from airflow_ddlrepl.engines.lake.catalog.piecewise.hive import HiveCatalog

        return HiveCatalog(named)
    if named.kind == "glue":
        from airflow_ddlrepl.engines.lake.catalog.piecewise.glue import GlueCatalog

        return GlueCatalog(named)
    return HadoopCatalog(place.warehouse)
