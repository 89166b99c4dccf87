"""Net changes that follow each other become one, which does to a table what they do one after the other."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_ddlrepl.engines.lake.connection.files import DiskFiles
from airflow_ddlrepl.engines.lake.merge import netted_sections as module
from airflow_ddlrepl.engines.lake.merge.netted_sections import Section
from airflow_ddlrepl.engines.lake.merge.stage import COUNTED, DELETE, INSERT, UPDATE, Staged
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Key, Table
from tests.engines.duckdb.test_types import of

SHAPE = Table(
    1,
    TableName("shop", "orders"),
    (
        Column(1, "id", of("bigint")),
        Column(2, "note", of("text")),
        Column(4, "state", of("text"), missing="new"),
    ),
    key=Key((1,), "orders_pkey", True),
)
"""The table at the end: column 3 was dropped, column 4 is new, and the key was an integer before."""
TYPES = {"op": pa.int8(), "a1": pa.int64(), "a2": pa.string(), "a3": pa.string(), "a4": pa.string()}
NAMES = {"op": "TINYINT", "a1": "BIGINT", "a2": "STRING", "a3": "STRING", "a4": "STRING"}
Row = dict[str, Any]
Staging = Sequence[Sequence[Staged]]


def netted_sections(sections: Staging, shape: Table, files: DiskFiles, then: Sequence[Table] = ()) -> Staging:
    """then: the shapes that the table had; without them it always was as it is now."""
    shapes = then or [shape] * len(sections)
    found = [Section(*pair) for pair in zip(shapes, sections, strict=True)]
    return module.netted_sections(found, shape, files)


class Folder:
    """A folder of staged files."""

    def __init__(self, path: Path) -> None:
        self.path, self.files = path, 0

    def staged(self, rows: Sequence[Row], *, is_narrow: bool = False, **more: Any) -> Staged:
        """Stage rows, whose values are by the columns' ids. A value that a row lacks is absent there."""
        if not rows:
            return Staged((1,), read=1, **more)
        self.files += 1
        at = self.path / f"{self.files}.parquet"
        names = [name for name in TYPES if any(name in row for row in rows)]
        types = TYPES | ({"a1": pa.int32()} if is_narrow else {})
        columns = {name: pa.array([row.get(name) for row in rows], types[name]) for name in names}
        for name in names[2:]:
            if any(name not in row for row in rows):
                columns[f"h{name[1:]}"] = pa.array([name in row for row in rows])
        pq.write_table(pa.table(columns), at)
        held = {**NAMES, **({"a1": "INT"} if is_narrow else {})}
        counts = {kind: sum(row["op"] == op for row in rows) for kind, op in COUNTED.items()}
        types_of = {name: held.get(name, "BOOLEAN") for name in columns}
        return Staged((1,), {"rows": str(at)}, {"rows": types_of}, counts, 1, **more)


def rows_of(section: Sequence[Staged]) -> list[Row]:
    """The rows of a section, each with the values that it has."""
    found = []
    for path in (one.files["rows"] for one in section if one.files):
        for row in pq.read_table(path).to_pylist():
            there = [name for name in row if name[0] == "a" and row.get(f"h{name[1:]}", True)]
            found.append({"op": row["op"], **{name: row[name] for name in there}})
    return found


def merged(table: dict[int, Row], sections: Staging) -> dict[int, Row]:
    """Do to a table what the MERGEs of sections do; a row that is missing, or there already, fails."""
    now = {key: dict(row) for key, row in table.items()}
    for section in sections:
        for row in sorted(rows_of(section), key=lambda one: one["op"]):
            key = row["a1"]
            assert (row["op"] == INSERT) != (key in now), row
            values: Row = {name: row[name] for name in row if name in ("a2", "a4")}
            if row["op"] == DELETE:
                del now[key]
            elif row["op"] == INSERT:
                now[key] = {"a2": None, "a4": "new", **values}
            else:
                now[key] |= values
    return now


def changes(chance: random.Random, alive: set[int], columns: Sequence[str]) -> list[Row]:
    """The net change of some rows; an update may lack values of columns, an insert has all of its time."""
    found = []
    for key in chance.sample(range(8), chance.randint(0, 6)):
        values = {name: chance.choice(["x", "y", None]) for name in columns}
        if key not in alive:
            found.append({"op": INSERT, "a1": key, **values})
            alive.add(key)
        elif chance.random() < 0.4:
            found.append({"op": DELETE, "a1": key})
            alive.discard(key)
        else:
            some = {name: value for name, value in values.items() if chance.random() < 0.7}
            found.append({"op": UPDATE, "a1": key, **some})
    return found


@pytest.mark.parametrize("seed", range(60))
def test_it_does_what_the_sections_do_one_after_the_other(seed: int, tmp_path: Path) -> None:
    chance, folder = random.Random(seed), Folder(tmp_path)
    table = {key: {"a2": f"old {key}", "a4": "new"} for key in chance.sample(range(8), 4)}
    alive, sections = set(table), list[list[Staged]]()
    for columns in (["a2", "a3"], ["a2", "a3"], ["a2", "a3", "a4"], ["a2", "a4"], ["a2", "a4"]):
        rows = changes(chance, alive, columns)
        sections.append([folder.staged(part, is_narrow=len(sections) < 2) for part in (rows[:2], rows[2:])])
    before = SHAPE.with_(columns=SHAPE.columns[:2])
    netted = netted_sections(sections, SHAPE, DiskFiles(), [before, before, SHAPE, SHAPE, SHAPE])
    assert merged(table, netted) == merged(table, sections)
    assert sum(one.read for section in netted for one in section) == 10


def test_few_rows_become_one_change_with_the_types_of_the_table_now(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    sections = [
        [folder.staged([{"op": INSERT, "a1": 1, "a2": "x", "a3": "gone"}, {"op": DELETE, "a1": 2}], is_narrow=True)],
        [folder.staged([])],
        [folder.staged([{"op": UPDATE, "a1": 1, "a4": "paid"}, {"op": INSERT, "a1": 3, "a2": "z", "a4": "new"}])],
    ]
    (section,) = netted_sections(sections, SHAPE, DiskFiles())
    assert merged({2: {"a2": "old", "a4": "new"}}, [section]) == {
        1: {"a2": "x", "a4": "paid"},
        3: {"a2": "z", "a4": "new"},
    }
    assert section[0].counts == {"deletes": 1, "updates": 0, "inserts": 2}
    assert section[0].types["rows"]["a1"] == "BIGINT" and "a3" not in section[0].types["rows"]


def test_rows_that_come_and_go_are_none(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    sections = [
        [folder.staged([{"op": INSERT, "a1": 1, "a2": "x"}])],
        [folder.staged([{"op": DELETE, "a1": 1}])],
    ]
    (section,) = netted_sections(sections, SHAPE, DiskFiles())
    assert not any(one.files for one in section) and sum(one.read for one in section) == 2


def test_a_row_that_comes_back_without_some_value_is_not_the_old_one(tmp_path: Path) -> None:
    """The table has a column that the source has dropped: what the old row had there is not the new one's."""
    folder = Folder(tmp_path)
    sections = [
        [folder.staged([{"op": UPDATE, "a1": 1, "a2": "x", "a4": "paid"}])],
        [folder.staged([{"op": DELETE, "a1": 1}])],
        [folder.staged([{"op": INSERT, "a1": 1, "a2": "y"}])],
    ]
    assert netted_sections(sections, SHAPE, DiskFiles()) == sections
    table = {1: {"a2": "old", "a4": "old"}}
    assert merged(table, sections) == {1: {"a2": "y", "a4": "new"}}


def test_a_row_that_comes_back_before_a_column_does_is_one_change(tmp_path: Path) -> None:
    folder, before = Folder(tmp_path), SHAPE.with_(columns=SHAPE.columns[:2])
    sections = [
        [folder.staged([{"op": DELETE, "a1": 1}])],
        [folder.staged([{"op": INSERT, "a1": 1, "a2": "y"}])],
        [folder.staged([{"op": INSERT, "a1": 2, "a2": "z", "a4": "paid"}])],
    ]
    netted = netted_sections(sections, SHAPE, DiskFiles(), [before, before, SHAPE])
    table = {1: {"a2": "old", "a4": "new"}}
    assert len(netted) == 1 and merged(table, netted) == merged(table, sections)
    assert netted_sections(sections, SHAPE, DiskFiles()) == sections  # the old row may have had another value


@pytest.mark.parametrize("again", [INSERT, UPDATE])
def test_changes_that_contradict_each_other_stay_what_they_are(again: int, tmp_path: Path) -> None:
    """So the MERGE of the second one says which row is there already, or missing."""
    folder = Folder(tmp_path)
    first = {"op": INSERT, "a1": 1, "a2": "x"} if again == INSERT else {"op": DELETE, "a1": 1}
    sections = [[folder.staged([first])], [folder.staged([{"op": again, "a1": 1, "a2": "y"}])]]
    assert netted_sections(sections, SHAPE, DiskFiles()) == sections


@pytest.mark.parametrize(
    "more",
    [{"is_resilient": True}, {"deletion": "is_deleted"}, {"size": module.MOST_BYTES + 1}, {"key": (2,)}],
    ids=lambda more: next(iter(more)),
)
def test_other_rows_are_merged_one_after_the_other(more: dict[str, Any], tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    sections = [[folder.staged([{"op": INSERT, "a1": number, "a2": "x"}])] for number in range(3)]
    sections[1] = [replace(sections[1][0], **more)]
    assert netted_sections(sections, SHAPE, DiskFiles()) == sections


def test_a_key_in_which_unlike_bytes_are_equal_stays(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    sections = [[folder.staged([{"op": INSERT, "a1": number, "a2": "x"}])] for number in range(2)]
    real = SHAPE.with_(columns=(Column(1, "id", of("double precision")), *SHAPE.columns[1:]))
    assert netted_sections(sections, real, DiskFiles()) == sections
