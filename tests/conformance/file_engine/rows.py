"""Rows of the log into a table of files: kept as the core has made them ready, and merged in their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from airflow_ddlrepl.engines.staging import Stager
from airflow_ddlrepl.errors import KeyTaken
from airflow_ddlrepl.integrate.netting.net_changes import NetRows
from airflow_ddlrepl.integrate.ready_rows import LeftOut, ReadyRows
from airflow_ddlrepl.integrate.stage_task import StageTask
from airflow_ddlrepl.model.table import Table
from tests.conformance.file_engine.evaluator import FileEvaluator, text
from tests.conformance.file_engine.files import Row

Key = tuple[str | None, ...]


@dataclass(frozen=True)
class StagedRows:
    """What the rows of a slice come to. key: ids of its columns, none of a table without one.

    changes: (what, key before, values by id, copies), in the order in which they are to be made. deletion: id of the
    column that is true for deleted rows, if such rows stay.
    """

    key: tuple[str, ...]
    changes: list[tuple[str, Key, Row, int]]
    read: int
    left_out: LeftOut
    deletion: str


class FileStager(Stager):
    """Nothing is opened, and the rows travel as they are."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        return None

    def evaluator(self, task: StageTask) -> FileEvaluator:
        return FileEvaluator(task.values)

    def store(self, ready: ReadyRows) -> StagedRows:
        plan = ready.plan
        ids = {column.name: str(column.id) for column in plan.columns}
        key = () if plan.is_history else tuple(ids[one.name] for one in plan.key)
        deletion = next((str(c.id) for c in plan.columns if c.target.name == plan.deletion), "")
        return StagedRows(key, [*_changes(ready.rows, ids)], ready.read, ready.left_out, deletion)


def _changes(rows: NetRows, ids: Mapping[str, str]) -> Iterator[tuple[str, Key, Row, int]]:
    for what, table in (
        ("delete", rows.deletes),
        ("move", rows.moves),
        ("update", rows.updates),
        ("insert", rows.inserts),
        ("removed", rows.removed),
        ("added", rows.added),
    ):
        for row in table.to_pylist():
            before = tuple(text(value) for name, value in row.items() if name.startswith("b_"))
            held = {name[2:]: value for name, value in row.items() if name.startswith("h_")}
            values = {ids[n]: text(row[f"a_{n}"]) for n in ids if f"a_{n}" in row and held.get(n, True)}
            yield what, before, values, row.get("copies", 1)


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
                    if what in ("added", "insert"):
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
        if key in by_key and not (part.deletion and by_key[key][part.deletion] == "t"):
            raise _misfit(f"the row {key} is there already", shape)
        by_key[key] = row
    return list(by_key.values())


def _whole(values: Row, shape: Table) -> Row:
    """A row that is older than a column shows there what the source shows."""
    return {str(c.id): values.get(str(c.id), c.missing) for c in shape.columns}


def _misfit(why: str, shape: Table) -> KeyTaken:
    return KeyTaken(why, code="INT-102", table=shape.name)
