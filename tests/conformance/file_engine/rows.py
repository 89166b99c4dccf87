"""Rows of the log into a table of files: staged as net changes by key, or as images, and merged in their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from airflow_ddlrepl.errors import KeyTaken, RowsRefused, identified
from airflow_ddlrepl.integrate.netting.equality import KeyColumn
from airflow_ddlrepl.integrate.netting.images import net_images
from airflow_ddlrepl.integrate.netting.net_changes import NetRows, net
from airflow_ddlrepl.integrate.read_changes import StageReader
from airflow_ddlrepl.integrate.stage_task import StageTask
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.types import Equality
from airflow_ddlrepl.trail.store import Trail
from tests.conformance.file_engine.files import Row
from tests.conformance.file_engine.types import FILE_TYPES

Key = tuple[str | None, ...]


@dataclass(frozen=True)
class StagedRows:
    """What the rows of a slice come to. key: ids of its columns, none of a table without one.

    changes: (what, key before, values by id, copies), in the order in which they are to be made.
    """

    key: tuple[str, ...]
    changes: list[tuple[str, Key, Row, int]]
    read: int


def stage(task: StageTask) -> StagedRows:
    """Net the rows of a task. Raises RowsRefused INT-120 for keys that this engine can't compare."""
    with identified({str(task.target_name): task.table.id}):
        return _stage(task)


def _stage(task: StageTask) -> StagedRows:
    if task.condition or task.transform:
        raise RowsRefused(
            "files take rows as they are",
            code="INT-120",
            table=task.target_name,
            hint="leave `restrict` and `transform` out",
        )
    ids = {column.name: str(column.id) for column in task.table.columns}
    there = {str(column.id) for column in task.target.columns if not column.generated}
    layout = [column.name for column in (task.files[0].columns if task.files else ())]
    wanted = [name for name in layout if name in ids and ids[name] in there]
    encodings = {column.name: column.encoding for column in (task.files[0].columns if task.files else ())}
    key = [KeyColumn(c.name, FILE_TYPES.equality(c, encodings.get(c.name, ""))) for c in task.table.key_columns()]
    if any(one.equality is Equality.TARGET for one in key):
        raise RowsRefused("files compare keys byte by byte", code="INT-120", table=task.target_name)
    changes = StageReader(task, FILE_TYPES, key, wanted, layout).read(Trail(task.trail_url, task.channel))
    key_ids = tuple(ids[one.name] for one in key)
    if not changes.num_rows:
        return StagedRows(key_ids, [], 0)
    named = {name: ids[name] for name in wanted}
    found = _net(net(changes, layout, key, wanted), named) if key else _images(net_images(changes, wanted), named)
    return StagedRows(key_ids, list(found), changes.num_rows)


def _net(rows: NetRows, ids: Mapping[str, str]) -> Iterator[tuple[str, Key, Row, int]]:
    for what, table in (
        ("delete", rows.deletes),
        ("move", rows.moves),
        ("update", rows.updates),
        ("insert", rows.inserts),
    ):
        for row in table.to_pylist():
            before = tuple(_text(value) for name, value in row.items() if name.startswith("b_"))
            held = {name[2:]: value for name, value in row.items() if name.startswith("h_")}
            values = {ids[n]: _text(row[f"a_{n}"]) for n in ids if f"a_{n}" in row and held.get(n, True)}
            yield what, before, values, 1


def _images(rows: pa.Table, ids: Mapping[str, str]) -> Iterator[tuple[str, Key, Row, int]]:
    for row in sorted(rows.to_pylist(), key=lambda row: int(row["copies"])):
        values = {ids[n]: _text(row[f"a_{n}"]) for n in ids}
        yield "removed" if row["copies"] < 0 else "added", (), values, abs(row["copies"])


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "t" if value else "f"
    return value if value is None or isinstance(value, str) else str(value)


def merge(rows: list[Row], staged: Sequence[StagedRows], shape: Table) -> list[Row]:
    """The rows after the changes. Raises KeyTaken INT-102 where a change does not fit: lost, or made twice."""
    for part in staged:
        if part.key:
            rows = _merge_by_key(rows, part, shape)
        else:
            rows = list(rows)
            for what, _, values, copies in part.changes:
                whole = _whole(values, shape)
                for _ in range(copies):
                    if what == "added":
                        rows.append(whole)
                    elif whole in rows:
                        rows.remove(whole)
                    else:
                        raise _misfit("a row to delete is not there", shape)
    return rows


def _merge_by_key(rows: Sequence[Row], part: StagedRows, shape: Table) -> list[Row]:
    by_key: dict[Key, Row] = {tuple(row[i] for i in part.key): row for row in rows}
    moved: list[Row] = []
    for what, before, values, _ in part.changes:
        after = tuple(values.get(i) for i in part.key)
        if what == "delete" or what == "move":
            old = by_key.pop(before, None)
            if old is None:
                raise _misfit(f"the row {before} is not there", shape)
            if what == "move":
                moved.append({**old, **values})
        elif what == "update":
            if after not in by_key:
                raise _misfit(f"the row {after} is not there", shape)
            by_key[after] = {**by_key[after], **values}
        else:
            moved.append(_whole(values, shape))
    for row in moved:
        key = tuple(row[i] for i in part.key)
        if key in by_key:
            raise _misfit(f"the row {key} is there already", shape)
        by_key[key] = row
    return list(by_key.values())


def _whole(values: Row, shape: Table) -> Row:
    """A row that is older than a column shows there what the source shows."""
    return {str(c.id): values.get(str(c.id), c.missing) for c in shape.columns}


def _misfit(why: str, shape: Table) -> KeyTaken:
    return KeyTaken(why, code="INT-102", table=shape.name)
