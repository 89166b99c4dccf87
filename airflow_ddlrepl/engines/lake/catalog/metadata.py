"""This module reads what a metadata file says of a table: its columns with their ids, and how many rows it has.

It also writes one like another, with other properties.
"""

from __future__ import annotations

import gzip
import json
import re
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from airflow_ddlrepl.engines.lake.connection.files import Files
from airflow_ddlrepl.engines.lake.types.physical import spark_name
from airflow_ddlrepl.errors import TableReplaced

WINDOW = "ddlrepl.window"
"""What each snapshot that a window makes says of itself: the name of the window."""
_GZIP = b"\x1f\x8b"
_VERSION = re.compile(r"v\d+\.")
_VERSIONS = 100
"""So many earlier metadata files a table names, where it does not say how many."""


def content(path: str, files: Files) -> Mapping[str, Any]:
    """Return a metadata file. files: of the warehouse.

    Nobody changes one whose name is its own; a table of a Hadoop catalog that is made again may have an earlier name.
    """
    return _read(path, files) if _VERSION.match(path.rpartition("/")[2]) else _unchanged(path, files)


@lru_cache(maxsize=64)
def _unchanged(path: str, files: Files) -> Mapping[str, Any]:
    return _read(path, files)


def _read(path: str, files: Files) -> Mapping[str, Any]:
    try:
        found = files.read(path)
    except FileNotFoundError:
        raise TableReplaced(
            f"a table's metadata file is missing in the warehouse of a lake: {path}",
            code="TGT-115",
            hint="did somebody remove files there? restore it, or drop the table's entry in the catalog and load the"
            " table again: ddlrepl refresh CHANNEL.yaml --table",
        ) from None
    metadata: dict[str, Any] = json.loads(gzip.decompress(found) if found.startswith(_GZIP) else found)
    return metadata


def properties(path: str, files: Files) -> dict[str, str]:
    """Return the properties of a table."""
    return dict(content(path, files).get("properties", {}))


def table_folder(path: str, files: Files) -> str:
    """Return the folder of a table."""
    return str(content(path, files)["location"])


@dataclass(frozen=True, slots=True)
class Head:
    """A head is the newest snapshot of a table. table: its UUID. snapshot: its id; None: the table has none yet.

    number: of the snapshot in the order of commits, from 1; 0: it has none.
    """

    table: str
    snapshot: int | None
    number: int


def head(path: str, files: Files) -> Head:
    """Return the newest snapshot of a table."""
    found = content(path, files)
    current = found.get("current-snapshot-id")
    last = next((one for one in found.get("snapshots", ()) if one["snapshot-id"] == current), None)
    return Head(found["table-uuid"], current if last else None, last.get("sequence-number", 0) if last else 0)


def follows(path: str, files: Files, last: Head) -> bool:
    """Does a table come from an earlier head of it? What between them is expired is taken to come from there."""
    found, now = content(path, files), head(path, files)
    if now.table != last.table:
        return False
    there = {one["snapshot-id"]: one for one in found.get("snapshots", ())}
    at, number = now.snapshot, now.number
    while at != last.snapshot and at in there:
        number = there[at].get("sequence-number", 0)
        at = there[at].get("parent-snapshot-id")
    return at == last.snapshot or (at is not None and number > last.number)


def with_summary(metadata: Mapping[str, Any], base: Mapping[str, Any], summary: Mapping[str, str]) -> Mapping[str, Any]:
    """Return what a metadata file has, with a summary that its newest snapshot, unless `base` has it, says besides.

    Other snapshots that `base` does not have say of it only which window has made them.
    """
    newest, known = metadata.get("current-snapshot-id"), {one["snapshot-id"] for one in base.get("snapshots", ())}
    of_window = {key: summary[key] for key in summary if key == WINDOW}

    def marked(one: Mapping[str, Any]) -> Mapping[str, Any]:
        if one["snapshot-id"] in known:
            return one
        return {**one, "summary": {**one["summary"], **(summary if one["snapshot-id"] == newest else of_window)}}

    return {**metadata, "snapshots": [marked(one) for one in metadata.get("snapshots", ())]}


def write_like(
    path: str, files: Files, folder: str, wanted: Mapping[str, str], newer: tuple[str, Mapping[str, str]] | None = None
) -> str:
    """Write a metadata file like another one, with these properties, into a folder; return its path.

    newer: an earlier file, and what the newest snapshot says of itself besides, where that file does not have it.
    """
    found = content(path, files)
    if newer is not None:
        found = with_summary(found, content(newer[0], files), newer[1])
    before = {"timestamp-ms": found["last-updated-ms"], "metadata-file": path}
    most = int(wanted.get("write.metadata.previous-versions-max", _VERSIONS))
    log = [*found.get("metadata-log", ()), before][-max(most, 1) :]
    now = max(int(time.time() * 1000), found["last-updated-ms"])
    made = {**found, "properties": dict(wanted), "metadata-log": log, "last-updated-ms": now}
    number = re.match(r"v?(\d+)", path.rpartition("/")[2])
    name = f"{int(number[1]) + 1 if number else 1:05}-{uuid.uuid4()}.metadata.json"
    with files.creating(f"{folder}/{name}") as file:
        file.write(json.dumps(made).encode())
    return f"{folder}/{name}"


def fields(path: str, files: Files) -> list[dict[str, Any]]:
    """Return the fields of the schema that a table has in this metadata file, as Iceberg writes them."""
    found = content(path, files)
    schema = next(one for one in found["schemas"] if one["schema-id"] == found["current-schema-id"])
    return list(schema["fields"])


def columns_there(path: str, files: Files) -> dict[str, str]:
    """Return Spark's name of the type of each column, by the column's name."""
    return {one["name"]: _type(one["type"]) for one in fields(path, files)}


def field_ids(path: str, files: Files) -> dict[str, int]:
    """Return the id of each column, by its name."""
    return {one["name"]: int(one["id"]) for one in fields(path, files)}


def newest_id(path: str, files: Files) -> int:
    """Return the highest id that a column of the table has had."""
    return int(content(path, files)["last-column-id"])


def partitioned_columns(path: str, files: Files) -> set[str]:
    """Return the columns by which the table is partitioned, or has been: without them Spark writes to it no more."""
    specs = content(path, files).get("partition-specs", ())
    found = {int(one["source-id"]) for spec in specs for one in spec["fields"]}
    return {name for name, at in field_ids(path, files).items() if at in found}


def row_count(path: str, files: Files) -> int | None:
    """Return how many rows a table has; None: it does not say."""
    found = content(path, files)
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
