"""Row changes are ordered in waves, and sent as arrays: what is applied together is what single statements do."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
import pytest

from airflow_ddlrepl.engines.abilities.lcr_target import NotTogether
from airflow_ddlrepl.engines.postgres.apply_lcrs.row_sets import text_array
from airflow_ddlrepl.engines.postgres.apply_lcrs.row_waves import waves
from airflow_ddlrepl.engines.postgres.merge.inline_rows import taking
from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.streams.evaluation.row_batch import RowBatch
from airflow_ddlrepl.streams.messages import MessageClass
from tests.postgres.apply_lcrs.applying import FENCE, ask, lcr_target
from tests.support.replica import run


def of(*values: str) -> pa.Array:
    return pa.array(values, pa.string())


def test_a_key_comes_once_in_a_wave_and_waves_keep_its_order() -> None:
    keys = of("a", "b", "a", "c", "b", "a")
    assert waves([keys], [keys]).tolist() == [0, 0, 1, 0, 1, 2]
    moved = waves([of("a", "b", "c", "a")], [of("b", "b", "c", "a")])
    assert moved.tolist() == [0, 1, 0, 1], "a change of a key is one of both keys"
    pairs = [of("a", "a", "b", "a"), of("x", "y", "x", "x")]
    assert waves(pairs, pairs).tolist() == [0, 0, 0, 1]
    assert waves([of()], [of()]).tolist() == []


def test_waves_of_many_keys_are_those_that_a_look_at_each_change_gives() -> None:
    dice = random.Random(1)
    for columns in (1, 2, 4):
        keys = [pa.array([str(dice.randrange(5)) for _ in range(300)]) for _ in range(columns)]
        seen: dict[tuple[str, ...], int] = {}
        expected = []
        for key in zip(*(one.to_pylist() for one in keys), strict=True):
            seen[key] = seen.get(key, -1) + 1
            expected.append(seen[key])
        assert waves(keys, keys).tolist() == expected


def test_texts_go_to_the_server_as_they_are(databases: Any) -> None:
    texts = ["", "a", None, 'x"y\\{},', "ü€\n\t", "NULL", "long" * 5000]
    with psycopg.connect(databases.target) as connection:
        for values in (pa.array(texts), pa.array(["gone", *texts]).slice(1), pa.array([], pa.string())):
            row = taking(connection).execute(b"SELECT $1::text[]", [text_array(values)], prepare=False).fetchone()
            assert row is not None and row[0] == values.to_pylist()


def batch(
    table: str, rows: list[Any], keys: tuple[str, ...] = ("id",), *, has_key: bool = True, start: int = 0
) -> RowBatch:
    """Rows as a log has them: kind, old values, new values; a new value that is missing is absent."""
    names = list(dict.fromkeys(name for _, old, new in rows for name in (*keys, *new, *old)))
    whole = [2 if set(old) >= set(names) else 1 if set(old) >= set(keys) else 0 for _, old, _ in rows]
    data: dict[str, Any] = {
        "lsn": pa.array(range(start, start + len(rows)), pa.int64()),
        "seq": pa.array([0] * len(rows), pa.int64()),
        "op": pa.array([op for op, _, _ in rows], pa.int8()),
        "before": pa.array(whole, pa.int8()),
    }
    for side, image in (("a", 2), ("b", 1)):
        data |= {f"{side}_{name}": pa.array([row[image].get(name) for row in rows], pa.string()) for name in names}
    absent = {
        name: flags
        for name in names
        if (flags := np.array([op is not Op.DELETE and name not in new for op, _, new in rows])).any()
    }
    owner, name = table.split(".")
    return RowBatch(owner, name, "dbs1", pa.table(data), absent, frozenset(keys), has_key=has_key)


def applied(location: str, *batches: RowBatch) -> None:
    with lcr_target(location) as target, target.session(FENCE) as session:
        session.run(lambda transaction: transaction.rows_together(batches, MessageClass.CAPTURED))


INSERT, UPDATE, DELETE = Op.INSERT, Op.UPDATE, Op.DELETE
TABLE = (
    "CREATE SCHEMA hr",
    "CREATE TABLE hr.t (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v varchar(5), n numeric(10, 2) DEFAULT 7,"
    " j json, a int[], twice int GENERATED ALWAYS AS (id * 2) STORED)",
)


def test_rows_of_all_kinds_are_applied_in_the_order_of_their_keys(databases: Any) -> None:
    run(databases.target, *TABLE, "INSERT INTO hr.t OVERRIDING SYSTEM VALUE VALUES (50, 'old', 1), (51, 'two', 2)")
    row = {"v": "x{},", "n": "1.005", "j": '{"a":  1}', "a": "{1,NULL}"}
    rows = [
        (INSERT, {}, {"id": "1", **row}),
        (INSERT, {}, {"id": "2", **row, "v": None}),
        (UPDATE, {"id": "1"}, {"id": "1", "v": "first", "n": "2", "a": None}),
        (UPDATE, {"id": "1"}, {"id": "1", "v": "last", "j": "[]"}),
        (DELETE, {"id": "2"}, {}),
        (INSERT, {}, {"id": "2", **row, "v": "again"}),
        (UPDATE, {"id": "50"}, {"id": "50", "v": "new"}),
        (DELETE, {"id": "51"}, {}),
        (UPDATE, {"id": "2"}, {"id": "2"}),
    ]
    applied(databases.target, batch("hr.t", rows))
    assert ask(databases.target, "SELECT id, v, n::text, j::text, a::text, twice FROM hr.t ORDER BY id") == [
        (1, "last", "2.00", "[]", None, 2),
        (2, "again", "1.01", '{"a":  1}', "{1,NULL}", 4),
        (50, "new", "1.00", None, None, 100),
    ]


def test_keys_that_wander_are_followed(databases: Any) -> None:
    run(databases.target, "CREATE SCHEMA hr", "CREATE TABLE hr.t (a int, b text, c int, PRIMARY KEY (b, a))")
    run(databases.target, "INSERT INTO hr.t VALUES (1, 'x', 10), (2, 'x', 20)")
    rows = [
        (UPDATE, {"a": "2", "b": "x"}, {"a": "3", "b": "x", "c": "20"}),
        (UPDATE, {"a": "1", "b": "x"}, {"a": "2", "b": "x", "c": "10"}),
        (UPDATE, {"a": "3", "b": "x"}, {"a": "1", "b": "x", "c": "21"}),
        (DELETE, {"a": "2", "b": "x"}, {}),
    ]
    applied(databases.target, batch("hr.t", rows, ("a", "b")))
    assert ask(databases.target, "SELECT * FROM hr.t") == [(1, "x", 21)]


@pytest.mark.parametrize(
    "change",
    [
        (INSERT, {}, {"id": "1", "v": "x"}),
        (INSERT, {}, {"id": "9", "v": "too long"}),
        (INSERT, {}, {"id": "x", "v": "a"}),
        (UPDATE, {"id": "9"}, {"id": "9", "v": "x"}),
        (UPDATE, {"id": "9"}, {"id": "9"}),
        (UPDATE, {"id": "1"}, {"id": "9", "v": "x"}),
        (DELETE, {"id": "9"}, {}),
    ],
)
def test_a_row_that_meets_another_state_undoes_all(databases: Any, change: Any) -> None:
    run(databases.target, *TABLE, "INSERT INTO hr.t OVERRIDING SYSTEM VALUE VALUES (1, 'one')")
    rows = [(INSERT, {}, {"id": "20", "v": "x"}), change, (INSERT, {}, {"id": "21", "v": "x"})]
    with pytest.raises(NotTogether) as raised:
        applied(databases.target, batch("hr.t", rows))
    assert raised.value.tables == frozenset()
    assert ask(databases.target, "SELECT id FROM hr.t") == [(1,)]


@pytest.mark.parametrize(
    "table",
    [
        ("CREATE TABLE hr.u (id int PRIMARY KEY)", "CREATE VIEW hr.t AS SELECT * FROM hr.u"),
        (
            "CREATE TABLE hr.t (id int PRIMARY KEY)",
            "CREATE FUNCTION hr.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
            "CREATE TRIGGER f BEFORE INSERT ON hr.t FOR EACH ROW EXECUTE FUNCTION hr.f()",
            "ALTER TABLE hr.t ENABLE ALWAYS TRIGGER f",
        ),
        (
            "CREATE TABLE hr.t (id int PRIMARY KEY) PARTITION BY LIST (id)",
            "CREATE TABLE hr.p PARTITION OF hr.t DEFAULT",
            "CREATE FUNCTION hr.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
            "CREATE TRIGGER f AFTER INSERT ON hr.p FOR EACH ROW EXECUTE FUNCTION hr.f()",
            "ALTER TABLE hr.p ENABLE REPLICA TRIGGER f",
        ),
        (
            "CREATE TABLE hr.t (id int PRIMARY KEY)",
            "CREATE RULE r AS ON INSERT TO hr.t WHERE NEW.id > 5 DO INSTEAD NOTHING",
            "ALTER TABLE hr.t ENABLE ALWAYS RULE r",
        ),
        ("CREATE DOMAIN hr.d AS varchar(3)", "CREATE TABLE hr.t (id hr.d PRIMARY KEY)"),
        ('CREATE TABLE hr.t (id "char" PRIMARY KEY)',),
        ("CREATE TABLE hr.t (number int PRIMARY KEY)",),
        (),
    ],
)
def test_tables_whose_rows_always_go_one_by_one(databases: Any, table: tuple[str, ...]) -> None:
    run(databases.target, "CREATE SCHEMA hr", *table)
    with pytest.raises(NotTogether) as raised:
        applied(databases.target, batch("hr.t", [(INSERT, {}, {"id": "1"})]))
    assert raised.value.tables == {TableName("hr", "t")}


def test_rows_of_two_tables_that_come_in_turns_in_one_go_one_by_one(databases: Any) -> None:
    run(databases.target, "CREATE SCHEMA hr", "CREATE TABLE hr.t (id int PRIMARY KEY)")
    first, second = (batch("hr.t", [(INSERT, {}, {"id": str(n)}), (INSERT, {}, {"id": str(n + 1)})]) for n in (1, 3))
    with pytest.raises(NotTogether):
        applied(databases.target, first, second)


COMPUTED = "twice int GENERATED ALWAYS AS (id * 2) STORED"
KEYLESS = f"CREATE TABLE hr.t (id int, v varchar(5), n numeric(10, 2), c char(3), {COMPUTED})"


def whole(id_: str | None, v: str | None, n: str | None = "1.5") -> dict[str, str | None]:
    return {"id": id_, "v": v, "n": n, "c": "x"}


def test_rows_without_a_key_are_found_by_all_their_values(databases: Any) -> None:
    run(databases.target, "CREATE SCHEMA hr", KEYLESS)
    there = "(1, 'a', 1.5, 'x'), (1, 'a', 1.5, 'x'), (1, 'b', 1.5, 'x'), (NULL, NULL, NULL, NULL)"
    run(databases.target, f"INSERT INTO hr.t VALUES {there}")
    rows = [
        (INSERT, {}, whole("7", "new")),
        (INSERT, {}, whole("7", "new")),
        (UPDATE, whole("1", "a"), whole("2", "a")),
        (DELETE, whole("7", "new"), {}),
        (UPDATE, whole("2", "a"), whole("3", None, None)),
        (DELETE, {"id": None, "v": None, "n": None, "c": None}, {}),
        (UPDATE, whole("3", None, None), {"id": "4", "n": "9", "c": "y"}),
    ]
    applied(databases.target, batch("hr.t", rows, ("id", "v", "n", "c"), has_key=False))
    found = ask(databases.target, "SELECT id, v, n::text, c, twice FROM hr.t ORDER BY id, v")
    expected = [("1", "a", "1.50", "x"), ("1", "b", "1.50", "x"), ("4", None, "9.00", "y"), ("7", "new", "1.50", "x")]
    assert found == [(int(id_), v, n, f"{c}  ", 2 * int(id_)) for id_, v, n, c in expected]


def test_of_equal_rows_one_is_changed_for_each_change(databases: Any) -> None:
    run(databases.target, "CREATE SCHEMA hr", KEYLESS)
    run(databases.target, "INSERT INTO hr.t SELECT 1, 'a', 1.5, 'x' FROM generate_series(1, 5)")
    changes: list[Any] = [(DELETE, whole("1", "a"), {})] * 2 + [(UPDATE, whole("1", "a"), whole("1", "b"))] * 2
    applied(databases.target, batch("hr.t", changes, ("id", "v", "n", "c"), has_key=False))
    assert ask(databases.target, "SELECT v, count(*) FROM hr.t GROUP BY 1 ORDER BY 1") == [("a", 1), ("b", 2)]
    with pytest.raises(NotTogether) as raised:
        applied(databases.target, batch("hr.t", changes, ("id", "v", "n", "c"), has_key=False))
    assert raised.value.tables == frozenset(), "there is one row for two deletes: each says so by itself"
    assert ask(databases.target, "SELECT v, count(*) FROM hr.t GROUP BY 1 ORDER BY 1") == [("a", 1), ("b", 2)]


def test_a_key_of_the_source_finds_rows_one_by_one_where_the_target_has_none(databases: Any) -> None:
    run(databases.target, "CREATE SCHEMA hr", KEYLESS)
    applied(databases.target, batch("hr.t", [(INSERT, {}, whole("1", "a")), (INSERT, {}, whole("1", "b"))]))
    assert ask(databases.target, "SELECT id, v FROM hr.t ORDER BY v") == [(1, "a"), (1, "b")]
    with pytest.raises(NotTogether) as raised:
        applied(databases.target, batch("hr.t", [(DELETE, whole("1", "a"), {})]))
    assert raised.value.tables == {TableName("hr", "t")}


def test_an_error_amid_many_statements_is_not_logged_by_the_driver(
    databases: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever is sent behind it has not run, as everybody knows."""
    run(databases.target, *TABLE)
    rows: list[Any] = [(INSERT, {}, {"id": str(n), "v": "x" * (n % 7)}) for n in range(2000)]
    batches = [batch("hr.t", rows[at : at + 20], start=at) for at in range(0, len(rows), 20)]
    with pytest.raises(NotTogether):
        applied(databases.target, *batches)
    assert not [one for one in caplog.records if one.name == "psycopg"]


def apart(*parts: list[RowBatch], table: str = "CREATE TABLE hr.t (id int PRIMARY KEY, v text)", location: str) -> bool:
    """Whether the target's session says so of parts, once it knows the table."""
    run(location, "DROP SCHEMA IF EXISTS hr CASCADE", "CREATE SCHEMA hr", table)
    with lcr_target(location) as target, target.session(FENCE) as session:
        assert not session.are_apart(parts, MessageClass.CAPTURED) or len(parts) < 2, "the table is not known yet"
        first = [batch("hr.t", [(INSERT, {}, {"id": "99", "v": "first"})])]
        session.run(lambda transaction: transaction.rows_together(first, MessageClass.CAPTURED))
        return session.are_apart(parts, MessageClass.CAPTURED)


def test_which_parts_can_be_applied_side_by_side(databases: Any) -> None:
    def of(*ids: int) -> RowBatch:
        return batch("hr.t", [(INSERT, {}, {"id": str(id_), "v": "x"}) for id_ in ids])

    where = databases.target
    moved = batch("hr.t", [(UPDATE, {"id": "1"}, {"id": "5", "v": "x"})])
    assert apart([of(1, 2)], [of(3)], [of(4, 5), of(6)], location=where)
    assert apart([of(1), of(1)], [of(3)], location=where), "a part may change a row as often as it likes"
    assert not apart([of(1)], [of(3), of(1)], location=where)
    assert not apart([of(5)], [moved], location=where)
    assert not apart([of(1)], [moved], location=where)
    assert apart([of(2)], [moved], location=where)
    unique = "CREATE TABLE hr.t (id int PRIMARY KEY, v text UNIQUE)"
    assert not apart([of(1)], [of(2)], table=unique, location=where)
    assert not apart([of(1)], [of(2)], table="CREATE TABLE hr.t (id int, v text)", location=where)
