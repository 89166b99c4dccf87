"""Channels whose targets have other values of a table `t` than the source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.replica import Replica
from tests.support.restricting import active, at_source

OURS = "tests.support.value_functions"
MASKED = {"tables": "t", "columns": "note", "function": f"{OURS}:masked"}
AS_MASKED = "CASE WHEN note IS NOT NULL THEN left(note, 1) || '*' || length(note) END"


def begun(databases: Any, folder: Path, *transform: Any, **more: Any) -> Replica:
    """An active channel with these transformations; without statements a table `t` with four rows."""
    return active(databases, folder, transform=list(transform), **more)


def check(replica: Replica, note: str = AS_MASKED, table: str = "t", columns: str = "id, region, amount") -> None:
    """The target has the source's rows, with this in the place of `note`."""
    wanted = f"SELECT row_to_json(x)::text FROM (SELECT {columns}, {note} AS note FROM {table}) x ORDER BY 1"
    found = f"SELECT row_to_json(x)::text FROM (SELECT {columns}, note FROM {table}) x ORDER BY 1"
    assert replica.rows(found) == at_source(replica, wanted)


def settled(replica: Replica, note: str = AS_MASKED, table: str = "t", columns: str = "id, region, amount") -> Any:
    """One cycle, then equal by `compare`, and as `check`."""
    told = replica.settle()
    check(replica, note, table, columns)
    return told
