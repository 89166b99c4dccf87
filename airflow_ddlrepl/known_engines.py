"""This module lists the kinds of database that there are: an engine is its folder and a line here."""

from __future__ import annotations

ENGINES = {
    "postgresql": "airflow_ddlrepl.engines.postgres.engine",
    "duckdb": "airflow_ddlrepl.engines.duckdb.engine",
    "iceberg": "airflow_ddlrepl.engines.lake.engine",
}
"""The module with the ENGINE for such databases, by the scheme of a location's URL."""
SPELLINGS = {"postgres": "postgresql"}
"""Other spellings of a scheme that people write."""

UNFIT = {
    "ducklake": "DuckLake 1.5.5 loses values when a column is widened and its rows are updated in one transaction;"
    " replicate into a DuckDB file, duckdb:///folder/file.duckdb: docs/duckdb.md says more"
}
"""Why there is no engine for a scheme that people may expect, and what to use instead."""


def scheme_of(written: str) -> str | None:
    """Return the scheme of an engine that was written so; None where there is no such engine."""
    scheme = written.lower()
    known = SPELLINGS.get(scheme, scheme)
    return known if known in ENGINES else None
