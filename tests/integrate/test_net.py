"""Law: the net change, applied in sets, gives what the changes give one after the other."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import settings

from airflow_ddlrepl.integrate.netting import net_changes
from airflow_ddlrepl.integrate.netting.equality import KeyColumn, canonical
from airflow_ddlrepl.integrate.netting.images import net_images
from airflow_ddlrepl.integrate.netting.keys import NeedsTargetKeys, distinct_keys, target_keys
from airflow_ddlrepl.integrate.netting.net_changes import has_key_updates, net
from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.ports.types import Equality

Row = dict[str, Any]
COLUMNS = ("k", "x", "y", "z")
KEY = (KeyColumn("k"),)
INT_FIELDS = [("lsn", pa.int64()), ("seq", pa.int64()), ("op", pa.int8()), ("before", pa.int8())]


def changes_of(rows: list[Row], types: dict[str, pa.DataType], old_columns: tuple[str, ...]) -> pa.Table:
    """Row-file schema; a row is {op, before, absent: column names, a: …, b: …}."""
    names = list(types)
    bitmaps = []
    for row in rows:
        bits = bytearray((len(names) + 7) // 8)
        for name in row.get("absent", ()):
            bits[names.index(name) // 8] |= 1 << names.index(name) % 8
        bitmaps.append(bytes(bits) if row.get("absent") else None)
    data = {
        "lsn": pa.array([100] * len(rows), pa.int64()),
        "seq": pa.array(range(len(rows)), pa.int64()),
        "op": pa.array([int(r["op"]) for r in rows], pa.int8()),
        "before": pa.array([r.get("before", 0) for r in rows], pa.int8()),
        "absent": pa.array(bitmaps, pa.binary()),
    }
    for name, type_ in types.items():
        data[f"a_{name}"] = pa.array([r.get("a", {}).get(name) for r in rows], type_)
    for name in old_columns:
        data[f"b_{name}"] = pa.array([r.get("b", {}).get(name) for r in rows], types[name])
    return pa.table(data)


class Source:
    """A table that writes a log like PostgreSQL's."""

    def __init__(self, chance: random.Random, full: bool) -> None:
        self.chance = chance
        self.full = full
        self.rows = {k: self.values(k) for k in range(6) if chance.random() < 0.5}
        self.log: list[Row] = []

    def values(self, key: int) -> Row:
        x, y, z = (self.chance.choice([None, *range(50)]) for _ in range(3))
        return {"k": key, "x": x, "y": y, "z": z}

    def old(self, row: Row) -> Row:
        return dict(row) if self.full else {"k": row["k"]}

    def step(self) -> None:
        kind = self.chance.choice(["insert", "update", "update", "partial", "move", "move", "delete"])
        free = [k for k in range(6) if k not in self.rows]
        if kind == "insert" and free:
            key = self.chance.choice(free)
            self.rows[key] = self.values(key)
            self.log.append({"op": Op.INSERT, "a": dict(self.rows[key])})
        elif kind != "insert" and self.rows:
            self.change(kind, self.chance.choice(list(self.rows)), free)

    def change(self, kind: str, key: int, free: list[int]) -> None:
        before = self.rows.pop(key)
        told = {"before": 2 if self.full else 1, "b": self.old(before)}
        if kind == "delete":
            self.log.append({"op": Op.DELETE, **told})
            return
        goal = self.chance.choice(free) if kind == "move" and free else key
        after = self.values(goal)
        absent = () if self.full else tuple(c for c in "xyz" if kind != "update" and self.chance.random() < 0.4)
        after.update({c: before[c] for c in absent})
        self.rows[goal] = after
        shown = {c: v for c, v in after.items() if c not in absent}
        tells = self.full or goal != key
        self.log.append({"op": Op.UPDATE, "a": shown, "absent": absent, **(told if tells else {})})


def apply(target: dict[int, Row], changes: pa.Table, **more: Any) -> dict[int, Row]:
    """As the merge does it, every step checked."""
    rows = net(changes, COLUMNS, KEY, **more)
    target = dict(target)
    for row in rows.deletes.to_pylist():
        del target[row["b_k"]]
    moves = [(target.pop(row["b_k"]), row) for row in rows.moves.to_pylist()]
    for row in rows.updates.to_pylist():
        target[row["a_k"]] = merged(target[row["a_k"]], row)
    for base, row in moves:
        assert row["a_k"] not in target
        target[row["a_k"]] = merged(base, row)
    for row in rows.inserts.to_pylist():
        assert row["a_k"] not in target
        target[row["a_k"]] = {c: row[f"a_{c}"] for c in COLUMNS}
    return target


def merged(base: Row, row: Row) -> Row:
    return {c: row[f"a_{c}"] if row.get(f"h_{c}", True) else base[c] for c in COLUMNS}


@pytest.mark.parametrize("full", [False, True], ids=["key told", "whole row told"])
def test_sets_give_what_single_changes_give(full: bool) -> None:
    types = dict.fromkeys(COLUMNS, pa.int64())
    for seed in range(16 * settings().max_examples):
        source = Source(random.Random(f"{seed}{full}"), full)
        start = dict(source.rows)
        for _ in range(source.chance.randint(1, 25)):
            source.step()
        changes = changes_of(source.log, types, COLUMNS if full else ("k",))
        assert apply(start, changes) == source.rows, (seed, source.log)


def image(chance: random.Random) -> dict[str, float | None]:
    return {"x": chance.choice([None, 1, 2]), "f": chance.choice([None, 0.0, -0.0, float("nan")])}


def test_keyless_rows_are_counted() -> None:
    types = {"x": pa.int64(), "f": pa.float64()}
    for seed in range(4 * settings().max_examples):
        chance = random.Random(seed)
        rows = [image(chance) for _ in range(chance.randint(0, 6))]
        start = Counter(map(str, rows))
        log: list[dict[str, Any]] = []
        for _ in range(chance.randint(1, 20)):
            kind = chance.choice(["insert", "update", "delete"])
            if kind == "insert" or not rows:
                rows.append(image(chance))
                log.append({"op": Op.INSERT, "a": rows[-1]})
                continue
            old = rows.pop(chance.randrange(len(rows)))
            if kind == "update":
                rows.append(image(chance))
            log.append(
                {"op": Op.UPDATE if kind == "update" else Op.DELETE, "before": 2, "b": old}
                | ({"a": rows[-1]} if kind == "update" else {})
            )
        for row in net_images(changes_of(log, types, ("x", "f")), ("x", "f")).to_pylist():
            start[str({"x": row["a_x"], "f": row["a_f"]})] += row["copies"]
        assert +start == Counter(map(str, rows)), seed
        assert not -start


def test_delete_and_insert_of_a_key_is_an_update_of_every_column() -> None:
    log = [
        {"op": Op.DELETE, "before": 1, "b": {"k": 1}},
        {"op": Op.INSERT, "a": {"k": 1, "x": 5}},
        {"op": Op.INSERT, "a": {"k": 2, "x": 5}},
        {"op": Op.DELETE, "before": 1, "b": {"k": 2}},
    ]
    rows = net(changes_of(log, dict.fromkeys(COLUMNS, pa.int64()), ("k",)), COLUMNS, KEY)
    assert rows.updates.to_pylist() == [{"a_k": 1, "a_x": 5, "a_y": None, "a_z": None}]
    assert not rows.deletes.num_rows and not rows.inserts.num_rows and not rows.moves.num_rows


def test_an_absent_key_is_the_old_key() -> None:
    log = [{"op": Op.UPDATE, "before": 1, "b": {"k": 7}, "a": {"x": 1}, "absent": ("k", "z")}]
    rows = net(changes_of(log, dict.fromkeys(COLUMNS, pa.int64()), ("k",)), COLUMNS, KEY)
    assert rows.updates.to_pylist() == [{"a_k": 7, "a_x": 1, "a_y": None, "a_z": None, "h_z": False}]


def numeric(digits: list[int], weight: int, scale: int) -> bytes:
    return np.array([len(digits), weight, 0, scale, *digits], ">i2").tobytes()


EQUAL = [
    (Equality.NUMERIC, pa.binary(), numeric([1], 0, 0), numeric([1], 0, 2)),
    (Equality.NUMERIC_TEXT, pa.string(), "1", "1.00"),
    (Equality.NUMERIC_TEXT, pa.string(), "-10.5", "-10.500"),
    (Equality.FLOAT, pa.float64(), 0.0, -0.0),
    (Equality.FLOAT, pa.string(), "0", "-0"),
    (Equality.FLOAT, pa.string(), "NaN", "NaN"),
    (Equality.BLANKS, pa.string(), "ab", "ab   "),
]
DIFFERENT = [
    (Equality.NUMERIC, pa.binary(), numeric([1], 0, 0), numeric([1], 1, 0)),
    (Equality.NUMERIC_TEXT, pa.string(), "10", "100"),
    (Equality.NUMERIC_TEXT, pa.string(), "100", "1"),
    (Equality.FLOAT, pa.string(), "Infinity", "-Infinity"),
    (Equality.BLANKS, pa.string(), "ab", " ab"),
]


@pytest.mark.parametrize("how,type_,one,other", EQUAL)
def test_keys_that_postgresql_finds_equal(how: Equality, type_: pa.DataType, one: Any, other: Any) -> None:
    values = canonical(pa.array([one, other], type_), how)
    assert values[0] == values[1]


@pytest.mark.parametrize("how,type_,one,other", DIFFERENT)
def test_keys_that_differ(how: Equality, type_: pa.DataType, one: Any, other: Any) -> None:
    values = canonical(pa.array([one, other], type_), how)
    assert values[0] != values[1]


def test_the_target_can_number_the_keys() -> None:
    types = {"k": pa.string(), "x": pa.int64()}
    log = [
        {"op": Op.UPDATE, "a": {"k": "A", "x": 1}},
        {"op": Op.UPDATE, "a": {"k": "a", "x": 2}},
        {"op": Op.UPDATE, "before": 1, "b": {"k": "b"}, "a": {"k": "B", "x": 3}},
    ]
    changes = changes_of(log, types, ("k",))
    key = (KeyColumn("k", Equality.TARGET),)
    with pytest.raises(NeedsTargetKeys):
        net(changes, tuple(types), key)
    values, codes = distinct_keys(changes, key)
    numbers = {text: i for i, text in enumerate(sorted({v.lower() for v in values["k"].to_pylist()}))}
    ids = target_keys(changes, codes, np.array([numbers[v.lower()] for v in values["k"].to_pylist()]))
    rows = net(changes, tuple(types), key, ids=ids)
    assert rows.updates.to_pylist() == [{"a_k": "a", "a_x": 2}, {"a_k": "B", "a_x": 3}]
    assert not rows.moves.num_rows


def test_key_updates_are_found_under_full_identity_too() -> None:
    types = dict.fromkeys(COLUMNS, pa.int64())
    quiet = {"op": Op.UPDATE, "before": 2, "b": {"k": 1}, "a": {"k": 1}}
    loud = {"op": Op.UPDATE, "before": 2, "b": {"k": 1}, "a": {"k": 2}}
    assert not has_key_updates(changes_of([quiet], types, COLUMNS), COLUMNS, KEY)
    assert has_key_updates(changes_of([quiet, loud], types, COLUMNS), COLUMNS, KEY)


@pytest.mark.parametrize("full", [False, True], ids=["key told", "whole row told"])
def test_a_change_alone_is_netted_as_among_others(full: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    types = dict.fromkeys(COLUMNS, pa.int64())
    for seed in range(4 * settings().max_examples):
        source = Source(random.Random(f"{seed}{full}"), full)
        while not source.log:
            source.step()
        changes = changes_of(source.log, types, COLUMNS if full else ("k",))
        alone = net(changes, COLUMNS, KEY, ["x", "k"])
        with monkeypatch.context() as generally:
            generally.setattr(net_changes, "_as_they_are", lambda *_: None)
            assert alone == net(changes, COLUMNS, KEY, ["x", "k"])


@pytest.mark.parametrize("keys", [(1, 2, 3), (1, 2, 1)], ids=["each once", "one twice, its delete is ignored"])
def test_inserts_are_netted_as_among_other_changes(keys: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    types = dict.fromkeys(COLUMNS, pa.int64())
    log = [{"op": Op.INSERT, "before": 0, "a": {**dict.fromkeys(COLUMNS, n), "k": key}} for n, key in enumerate(keys)]
    changes = changes_of(log, types, ("k",))
    rows = net(changes, COLUMNS, KEY, ["x", "k"])
    assert rows.inserts.num_rows == len(set(keys))
    with monkeypatch.context() as generally:
        generally.setattr(net_changes, "_as_they_are", lambda *_: None)
        assert rows == net(changes, COLUMNS, KEY, ["x", "k"])
