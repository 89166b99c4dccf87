"""Staged net changes become a table's rows: by key, with keys that change, and as copies of whole rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

from airflow_ddlrepl.engines.lake.catalog.window import Window
from airflow_ddlrepl.engines.lake.ddl.render import definitions
from airflow_ddlrepl.engines.lake.merge import merge as merge_module
from airflow_ddlrepl.engines.lake.merge.merge import merge
from airflow_ddlrepl.engines.lake.merge.stage import LakeStager, Staged
from airflow_ddlrepl.engines.postgres.types.arrow_values import POSTGRES_VALUES
from airflow_ddlrepl.errors import DdlReplError, KeyTaken, RowsRefused
from airflow_ddlrepl.integrate.netting.net_changes import NO_ROWS, NetRows
from airflow_ddlrepl.integrate.ready_rows import LeftOut, ReadyRows
from airflow_ddlrepl.integrate.stage_task import StageTask
from airflow_ddlrepl.integrate.steps.row_columns import RowColumn
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.model.table import Column, Key, Table
from tests.engines.duckdb.test_types import of

ORDERS = TableName("shop", "orders")
SHAPE = Table(
    1,
    ORDERS,
    (
        Column(1, "id", of("bigint")),
        Column(2, "note", of("text")),
        Column(3, "amount", of("numeric(10,2)")),
        Column(4, "state", of("text"), missing="new"),
    ),
    key=Key((1,), "orders_pkey", True),
)

pytestmark = pytest.mark.xdist_group("spark")
LOGGED = SHAPE.with_(columns=SHAPE.columns[:3])
"""The shape of rows that are older than the column `state`."""
Rows = list[tuple[Any, ...]]


def texts(**columns: Sequence[str | bool | int | None]) -> pa.Table:
    """Return rows of the log: values as texts, flags of values, copies."""
    return pa.table(
        {
            name: pa.array(values, pa.int64() if name == "copies" else pa.bool_() if name[0] == "h" else pa.string())
            for name, values in columns.items()
        }
    )


class Lake:
    """A table of a lake in a window, and what is merged into it."""

    def __init__(self, window: Window, rows: Rows, shape: Table = SHAPE) -> None:
        self.window, self.shape, self.sections = window, shape, 0
        window.create(ORDERS, definitions(shape))
        if rows:
            values = ", ".join(f"({', '.join('NULL' if v is None else repr(v) for v in one)})" for one in rows)
            window.spark.sql(f"INSERT INTO {window.table(ORDERS)} VALUES {values}")

    def staged(
        self, rows: NetRows, logged: Table = LOGGED, *, is_resilient: bool = False, deletion: str = ""
    ) -> Staged:
        self.sections += 1
        ours = {column.id: column for column in self.shape.columns}
        columns = tuple(RowColumn(one.name, ours[one.id], one, "text") for one in logged.columns)
        key = tuple(SimpleNamespace(name=one.name) for one in self.shape.key_columns())
        task = StageTask(
            self.window.location, "", "shop", (), LogKey(0, 0), LogKey(9, 0), logged, self.shape, ORDERS,
            f"s_{self.sections}", POSTGRES_VALUES, is_resilient=is_resilient,
        )  # fmt: skip
        plan = SimpleNamespace(columns=columns, key=key, is_history=not key and deletion == "", deletion=deletion)
        return LakeStager().store(ReadyRows(task, cast(Any, plan), rows, 9, LeftOut()))

    def merge(self, *part: Staged) -> Counter[str]:
        return merge(self.window.spark, self.window.table(ORDERS), ORDERS, self.shape, part)

    @property
    def rows(self) -> Rows:
        found = self.window.spark.sql(
            f"SELECT id, note, CAST(amount AS STRING), state FROM {self.window.table(ORDERS)}"
        )
        return sorted((tuple(row) for row in found.collect()), key=repr)


@pytest.fixture(params=[True, False], ids=["apart", "in one"])
def are_inserts_apart(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether new rows are inserted by a statement of their own, as many are."""
    if request.param:
        monkeypatch.setattr(merge_module, "_MANY", 1)
    return bool(request.param)


@pytest.mark.usefixtures("are_inserts_apart")
def test_deletes_updates_and_inserts_are_merged_together(window: Window) -> None:
    lake = Lake(window, [(1, "one", 1.5, "old"), (2, "two", 2.5, "old"), (3, "three", 3.5, "old")])
    done = lake.merge(
        lake.staged(
            NetRows(
                deletes=texts(b_id=["1"]),
                updates=texts(a_id=["2", "3"], a_note=["TWO", None], h_note=[True, False], a_amount=["9.99", None]),
                moves=pa.table({}),
                inserts=texts(a_id=["4"], a_note=["it's"], a_amount=["0.10"]),
            )
        )
    )
    assert done == Counter(deleted=1, updated=2, inserted=1, changes=9)
    assert lake.rows == [(2, "TWO", "9.99", "old"), (3, "three", None, "old"), (4, "it's", "0.10", "new")]


def test_rows_take_over_keys_of_others_and_keep_what_the_log_lacks(window: Window) -> None:
    lake = Lake(window, [(1, "one", 1.5, "a"), (2, "two", 2.5, "b"), (3, "three", 3.5, "c"), (5, "five", 5.5, "d")])
    done = lake.merge(
        lake.staged(
            NetRows(
                deletes=texts(b_id=["3"]),
                updates=texts(a_id=["5"], a_note=["FIVE"], a_amount=["5.00"]),
                moves=texts(
                    b_id=["1", "2"],
                    a_id=["2", "3"],
                    a_note=["ONE", None],
                    h_note=[True, False],
                    a_amount=["1.00", "2.00"],
                ),
                inserts=texts(a_id=["1"], a_note=["again"], a_amount=[None]),
            )
        )
    )
    assert done == Counter(deleted=1, updated=3, inserted=1, changes=9)
    assert lake.rows == [
        (1, "again", None, "new"), (2, "ONE", "1.00", "a"), (3, "two", "2.00", "b"), (5, "FIVE", "5.00", "d"),
    ]  # fmt: skip


@pytest.mark.usefixtures("are_inserts_apart")
@pytest.mark.parametrize("inserts", [["12", "13"], []])
def test_files_without_any_of_the_keys_are_not_read(window: Window, inserts: list[str]) -> None:
    lake = Lake(window, [(number, "old", 1.5, "a") for number in range(1, 9)])
    files = window.spark.sql(f"SELECT file_path FROM {window.table(ORDERS)}.files").collect()
    window.spark.sql(f"INSERT INTO {window.table(ORDERS)} VALUES (10, 'new', 1.5, 'a'), (11, 'new', 1.5, 'a')")
    hidden = [Path(file.removeprefix("file:")) for (file,) in files]
    for one in hidden:
        one.rename(one.with_suffix(".hidden"))
    rows = NetRows(
        deletes=texts(b_id=["10"]),
        updates=texts(a_id=["11"], a_note=["NEW"], a_amount=["9.99"]),
        moves=pa.table({}),
        inserts=texts(a_id=inserts, a_note=inserts, a_amount=[None for _ in inserts]),
    )
    lake.merge(lake.staged(rows))
    for one in hidden:
        one.with_suffix(".hidden").rename(one)
    come = [(int(one), one, None, "new") for one in inserts]
    old = [(number, "old", "1.50", "a") for number in range(1, 9)]
    assert lake.rows == sorted([*old, (11, "NEW", "9.99", "a"), *come], key=repr)


def test_many_new_rows_are_compared_with_files_of_their_own_keys_alone(
    window: Window, *, are_inserts_apart: bool
) -> None:
    """A file with keys between those of the others and theirs, which no change is about, is not read."""
    lake = Lake(window, [(number, "old", 1.5, "a") for number in range(1, 9)])
    before = window.spark.sql(f"SELECT file_path FROM {window.table(ORDERS)}.files").collect()
    window.spark.sql(f"INSERT INTO {window.table(ORDERS)} VALUES (15, 'old', 1.5, 'a')")
    files = window.spark.sql(f"SELECT file_path FROM {window.table(ORDERS)}.files").collect()
    (between,) = (Path(one.file_path.removeprefix("file:")) for one in files if one not in before)
    between.rename(between.with_suffix(".hidden"))
    updates = texts(a_id=["7"], a_note=["NEW"], a_amount=["9.99"])
    nothing = pa.table({})
    inserts = texts(a_id=["21", "29"], a_note=["x", "y"], a_amount=["1", "1"])
    rows = lake.staged(NetRows(nothing, updates, nothing, inserts))
    if not are_inserts_apart:
        with pytest.raises(DdlReplError):
            lake.merge(rows)
        return
    lake.merge(rows)
    between.with_suffix(".hidden").rename(between)
    assert {row[0]: row[1] for row in lake.rows if row[0] > 6} == {7: "NEW", 8: "old", 15: "old", 21: "x", 29: "y"}


@pytest.mark.usefixtures("are_inserts_apart")
def test_a_new_row_that_is_there_already_is_told_beside_others(window: Window) -> None:
    lake = Lake(window, [(1, "one", 1.5, "a"), (2, "two", 2.5, "b")])
    inserts = texts(a_id=["2", "3"], a_note=["x", "y"], a_amount=["1", "1"])
    nothing = pa.table({})
    with pytest.raises(DdlReplError) as refused:
        lake.merge(lake.staged(NetRows(texts(b_id=["1"]), nothing, nothing, inserts)))
    assert (refused.value.code, refused.value.table) == ("INT-102", "shop.orders")


def test_moves_alone_need_no_other_rows(window: Window) -> None:
    lake = Lake(window, [(1, "one", 1.5, "a")])
    moves = texts(b_id=["1"], a_id=["7"], a_note=["one"], a_amount=["1.50"])
    lake.merge(lake.staged(NetRows(pa.table({}), pa.table({}), moves, pa.table({}))))
    assert lake.rows == [(7, "one", "1.50", "a")]


@pytest.mark.parametrize("kind", ["deletes", "updates", "moves"])
def test_a_row_that_is_missing_is_told(window: Window, kind: str) -> None:
    lake = Lake(window, [(1, "one", 1.5, "a")])
    found = {
        "deletes": texts(b_id=["8", "1"]),
        "updates": texts(a_id=["8", "1"], a_note=["x", "y"], a_amount=["1", "1"]),
        "moves": texts(b_id=["8"], a_id=["9"], a_note=["x"], a_amount=["1"]),
    }
    rows = NetRows(**{one: found[one] if one == kind else pa.table({}) for one in (*found, "inserts")})
    with pytest.raises(RowsRefused, match="are missing") as refused:
        lake.merge(lake.staged(rows))
    assert (refused.value.code, refused.value.table) == ("INT-101", "shop.orders")


@pytest.mark.parametrize("kind", ["inserts", "moves"])
def test_a_row_that_is_there_already_is_told(window: Window, kind: str) -> None:
    lake = Lake(window, [(1, "one", 1.5, "a"), (2, "two", 2.5, "b")])
    found = {
        "inserts": texts(a_id=["2", "3"], a_note=["x", "y"], a_amount=["1", "1"]),
        "moves": texts(b_id=["1"], a_id=["2"], a_note=["x"], a_amount=["1"]),
    }
    rows = NetRows(**{one: found[one] if one == kind else pa.table({}) for one in (*found, "deletes", "updates")})
    with pytest.raises(KeyTaken) as refused:
        lake.merge(lake.staged(rows))
    assert refused.value.code == "INT-102"


def test_a_key_that_is_there_twice_is_told(window: Window) -> None:
    lake = Lake(window, [(1, "one", 1.5, "a"), (1, "again", 1.5, "a")])
    nothing = pa.table({})
    with pytest.raises(RowsRefused, match="more than once"):
        lake.merge(lake.staged(NetRows(texts(b_id=["1"]), nothing, nothing, nothing)))


@pytest.mark.parametrize("kind", ["deletes", "updates"])
def test_a_row_that_is_there_twice_does_not_stand_for_one_that_is_missing(window: Window, kind: str) -> None:
    lake = Lake(window, [(1, "one", 1.5, "a"), (1, "again", 1.5, "a"), (3, "three", 3.5, "c")])
    nothing = pa.table({})
    rows = {
        "deletes": NetRows(texts(b_id=["1", "8"]), nothing, nothing, nothing),
        "updates": NetRows(nothing, texts(a_id=["1", "8"], a_note=["x", "y"], a_amount=["1", "1"]), nothing, nothing),
    }
    before = lake.rows
    with pytest.raises(RowsRefused, match=r"are missing in the target, such as that of the key \(8\)"):
        lake.merge(lake.staged(rows[kind]))
    assert lake.rows == before
    taken = NetRows(texts(b_id=["3"]), nothing, nothing, texts(a_id=["1", "4"], a_note=["x", "y"], a_amount=["1", "1"]))
    with pytest.raises(KeyTaken, match=r"such as that of the key \(1\)"):
        lake.merge(lake.staged(taken))


MARKED = Table(1, ORDERS, (*SHAPE.columns[:3], Column(4, "state", of("boolean"))), key=SHAPE.key)


def test_deleted_rows_stay_are_not_found_and_are_replaced(window: Window) -> None:
    lake = Lake(window, [(1, "one", 1.5, False), (2, "two", 2.5, True), (3, "three", 3.5, False)], MARKED)
    nothing = pa.table({})

    def merge(*rows: pa.Table) -> None:
        lake.merge(lake.staged(NetRows(*rows), MARKED, deletion="state"))

    def row(key: str, note: str, mark: str) -> dict[str, list[str]]:
        return {"a_id": [key], "a_note": [note], "a_amount": ["1"], "a_state": [mark]}

    merge(nothing, texts(**row("1", "ONE", "t")), nothing, texts(**row("2", "again", "f")))
    moves = texts(b_id=["3"], **row("1", "moved", "f"))
    merge(nothing, nothing, moves, nothing)
    assert lake.rows == [(1, "moved", "1.00", False), (2, "again", "1.00", False)]
    merge(nothing, texts(**row("2", "gone", "t")), nothing, nothing)
    with pytest.raises(RowsRefused, match="are missing"):
        merge(nothing, texts(**row("2", "late", "f")), nothing, nothing)
    with pytest.raises(KeyTaken):
        merge(nothing, nothing, nothing, texts(**row("1", "taken", "f")))


def test_rows_that_may_be_there_or_missing_end_as_the_log_has_them(window: Window) -> None:
    lake = Lake(window, [(1, "one", 1.5, "a"), (2, "two", 2.5, "b")])
    rows = NetRows(
        deletes=texts(b_id=["1", "8"]),
        updates=texts(a_id=["7"], a_note=["seven"], a_amount=["7"]),
        moves=pa.table({}),
        inserts=texts(a_id=["2"], a_note=["TWO"], a_amount=["2"]),
    )
    lake.merge(lake.staged(rows, is_resilient=True))
    assert lake.rows == [(2, "TWO", "2.00", "b"), (7, "seven", "7.00", "new")]


@pytest.mark.usefixtures("are_inserts_apart")
def test_buckets_of_a_section_are_merged_together(window: Window) -> None:
    lake = Lake(window, [(1, "one", 1.5, "a"), (2, "two", 2.5, "b")])
    nothing = pa.table({})
    parts = [
        lake.staged(NetRows(texts(b_id=["1"]), nothing, nothing, nothing)),
        lake.staged(
            NetRows(
                nothing,
                texts(a_id=["2"], a_note=[None], h_note=[False], a_amount=["9"]),
                nothing,
                texts(a_id=["3"], a_note=["three"], a_amount=["3"]),
            )
        ),
        lake.staged(NO_ROWS),
    ]
    assert lake.merge(*parts) == Counter(deleted=1, updated=1, inserted=1, changes=27)
    assert lake.rows == [(2, "two", "9.00", "b"), (3, "three", "3.00", "new")]


WHOLE = SHAPE.with_(key=None)


def images(*rows: tuple[str | None, str | None, int]) -> pa.Table:
    ids, notes, copies = (list(one) for one in zip(*rows, strict=True))
    amounts = ["1.00"] * len(rows)
    states = ["s"] * len(rows)
    return texts(a_id=ids, a_note=notes, a_amount=amounts, a_state=states, copies=cast(Any, copies))


def test_copies_of_whole_rows_come_and_go(window: Window) -> None:
    row, other = (1, "x", 1, "s"), (None, None, 1, "s")
    lake = Lake(window, [row, row, row, other, other, (2, "stays", 1, "s")], WHOLE)
    nothing = pa.table({})
    gone, come = images(("1", "x", 2), (None, None, 1)), images(("5", "z", 3))
    done = lake.merge(lake.staged(NetRows(nothing, nothing, nothing, nothing, gone, come), WHOLE))
    assert done == Counter(deleted=3, inserted=3, changes=9)
    assert lake.rows == sorted(
        [(1, "x", "1.00", "s"), (None, None, "1.00", "s"), (2, "stays", "1.00", "s"), *[(5, "z", "1.00", "s")] * 3],
        key=repr,
    )


def test_a_whole_row_that_is_missing_is_told(window: Window) -> None:
    lake = Lake(window, [(1, "x", 1, "s")], WHOLE)
    nothing = pa.table({})
    with pytest.raises(RowsRefused, match="2 to update or delete, 1 found"):
        lake.merge(lake.staged(NetRows(nothing, nothing, nothing, nothing, images(("1", "x", 2))), WHOLE))


def test_a_value_that_the_lake_can_not_hold_is_refused_with_its_table(window: Window) -> None:
    lake = Lake(window, [])
    nothing = pa.table({})
    with pytest.raises(RowsRefused, match="amount can't hold the value NaN") as refused:
        lake.staged(NetRows(nothing, nothing, nothing, texts(a_id=["1"], a_note=["x"], a_amount=["NaN"])))
    assert (refused.value.code, refused.value.table) == ("INT-105", "shop.orders")
