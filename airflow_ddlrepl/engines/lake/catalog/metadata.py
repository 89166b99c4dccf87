"""This module reads what a metadata file says of a table: its columns with their ids, and how many rows it has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from airflow_ddlrepl.engines.lake.types.physical import spark_name


@lru_cache(maxsize=64)
def _read(path: str) -> Mapping[str, Any]:
    """Return a metadata file, which nobody changes."""
    found: dict[str, Any] = json.loads(Path(path.removeprefix("file:")).read_bytes())
    return found


def fields(path: str) -> list[dict[str, Any]]:
    """Return the fields of the schema that a table has in this metadata file, as Iceberg writes them."""
    found = _read(path)
    schema = next(one for one in found["schemas"] if one["schema-id"] == found["current-schema-id"])
    return list(schema["fields"])


def columns_there(path: str) -> dict[str, str]:
    """Return Spark's name of the type of each column, by the column's name."""
    return {one["name"]: _type(one["type"]) for one in fields(path)}


def field_ids(path: str) -> dict[str, int]:
    """Return the id of each column, by its name."""
    return {one["name"]: int(one["id"]) for one in fields(path)}


def newest_id(path: str) -> int:
    """Return the highest id that a column of the table has had."""
    return int(_read(path)["last-column-id"])


def row_count(path: str) -> int | None:
    """Return how many rows a table has; None: it does not say."""
    found = _read(path)
    current = found.get("current-snapshot-id")
    if current in (None, -1):
        return 0
    summary: Mapping[str, str] = next(
        (one["summary"] for one in found["snapshots"] if one["snapshot-id"] == current), {}
    )
    counts = [summary.get(f"total-{kind}") for kind in ("records", "position-deletes", "equality-deletes")]
    known = [int(one) for one in counts if one is not None]
    return known[0] - sum(known[1:]) if len(known) == len(counts) else None


def _type(of: Any) -> str:
    return spark_name(of) if isinstance(of, str) else json.dumps(of, sort_keys=True)
