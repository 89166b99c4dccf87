"""transform through changes of the source's tables and of the file: what it can't be right for stops, or is loaded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.errors import DdlReplError, TargetError, Unsupported
from tests.support.replica import Replica
from tests.support.restricting import FULL, LEAVE, ROWS, TABLE, now
from tests.support.transforming import AS_MASKED, MASKED, OURS, begun, check, settled

Begin = Callable[..., Replica]


@pytest.fixture
def begin(databases: Any, tmp_path: Path) -> Begin:
    return partial(begun, databases, tmp_path)


def test_the_file_changes_its_mind(begin: Begin) -> None:
    """Another function, other columns, another version, none, and one again: `plan` tells so before."""
    replica = begin(MASKED)
    otherwise = {**MASKED, "function": f"{OURS}:masked_otherwise"}
    for said, note in (
        (otherwise, "upper(note)"),
        ({**otherwise, "version": 2}, "upper(note)"),
        ({**otherwise, "version": 2, "columns": ["note", "nothing"]}, "upper(note)"),
        (None, "note"),
        (MASKED, AS_MASKED),
    ):
        replica.at_source("UPDATE t SET note = note || 'x'")
        now(replica, transform=[said] if said else [])
        (planned,) = replica.plan().targets["warehouse"]
        assert planned.needs_refresh and planned.steps[0].why.startswith("other values by `transform`")
        assert list(settled(replica, note).refresh.tables) == ["public.t"]
        replica.at_source("UPDATE t SET note = note || 'y'")
        assert settled(replica, note).refresh.tables == {}
    now(replica, transform=[{**MASKED, "tables": ["public.t", "u"]}, {**MASKED, "columns": "region"}])
    assert settled(replica).refresh.tables == {}


def test_tables_without_such_columns_are_left_alone(begin: Begin) -> None:
    """An entry for all tables is about those that have the columns; the others need no whole rows, either."""
    other = ("CREATE TABLE u (id int PRIMARY KEY, x text)", "INSERT INTO u VALUES (1, 'x')")
    replica = begin({**MASKED, "tables": "*"}, statements=(TABLE, FULL, ROWS, *other))
    now(replica, transform=[{**MASKED, "tables": "*", "version": "2"}])
    replica.at_source("UPDATE u SET x = 'y'")
    assert list(settled(replica).refresh.tables) == ["public.t"]
    assert replica.rows("SELECT x FROM u") == [("y",)]


def test_a_new_column_that_is_given(begin: Begin) -> None:
    """Also its value in the rows that were there."""
    replica = begin({**MASKED, "columns": ["note", "secret"]})
    replica.at_source("UPDATE t SET note = 'before'", "ALTER TABLE t ADD secret text DEFAULT 'hidden'")
    replica.at_source("INSERT INTO t VALUES (9, 'EU', 9, 'after', 'unknown')", "UPDATE t SET secret = 'x' WHERE id = 1")
    assert list(settled(replica).refresh.tables) == ["public.t"]
    secrets = [(1, "x*1"), (2, "h*6"), (3, "h*6"), (4, "h*6"), (9, "u*7")]
    assert replica.rows("SELECT id, secret FROM t ORDER BY id") == secrets
    replica.at_source("UPDATE t SET secret = 'known' WHERE id = 2")
    assert settled(replica).refresh.tables == {}
    assert replica.rows("SELECT secret FROM t WHERE id = 2") == [("k*5",)]


@pytest.mark.parametrize(
    "change",
    [
        "ADD other int DEFAULT 4",
        "DROP region",
        "RENAME region TO area",
        "ALTER amount TYPE text",
        "ALTER amount TYPE numeric(12,3)",
        "ALTER amount TYPE numeric(9,2) USING amount * 3",
        "ALTER note TYPE varchar(50)",
        "ALTER note TYPE text USING note || '!'",
    ],
)
def test_columns_that_the_function_looks_at_change(begin: Begin, change: str) -> None:
    replica = begin({**MASKED, "function": f"{OURS}:joined"})
    replica.at_source(f"ALTER TABLE t {change}", "UPDATE t SET note = 'later' WHERE id < 3")
    assert list(replica.settle().refresh.tables) == ["public.t"]
    replica.at_source("UPDATE t SET note = 'last' WHERE id > 2", "DELETE FROM t WHERE id = 1")
    assert replica.settle().refresh.tables == {}


@pytest.mark.parametrize("change", ["ADD other int DEFAULT 4", "DROP region", "RENAME region TO area"])
def test_columns_that_it_does_not_look_at_change(begin: Begin, change: str) -> None:
    """`reads` says which ones it does."""
    replica = begin({**MASKED, "reads": ["id"]})
    replica.at_source(f"ALTER TABLE t {change}", "UPDATE t SET note = 'later' WHERE id < 3")
    assert settled(replica, columns="id, amount").refresh.tables == {}


@pytest.mark.parametrize("using", ["", " USING note::int + 0"])
def test_a_given_column_that_becomes_a_number(begin: Begin, using: str) -> None:
    """What stands at the target is no number: the target's table takes the type when it is loaded anew."""
    replica = begin({**MASKED, "function": f"{OURS}:not_of_two"})
    replica.at_source("UPDATE t SET note = '22'")
    settled(replica, "'n/a'")
    convert = using or " USING note::int"
    replica.at_source(f"ALTER TABLE t ALTER note TYPE int{convert}", "UPDATE t SET note = 333 WHERE id > 0")
    assert list(settled(replica, "note").refresh.tables) == ["public.t"]
    replica.at_source("UPDATE t SET note = 4444 WHERE id = 1")
    assert settled(replica, "note").refresh.tables == {}


def test_a_given_column_that_becomes_a_text(begin: Begin) -> None:
    said = {"tables": "t", "columns": "amount", "function": f"{OURS}:doubled"}
    replica = begin(said)
    replica.at_source("ALTER TABLE t ALTER amount TYPE text", "UPDATE t SET amount = '7' WHERE id = 1")
    assert list(replica.settle().refresh.tables) == ["public.t"]
    amounts = [("14.0",), ("100.0",), ("600.0",), ("800.0",)]
    assert replica.rows("SELECT amount FROM t ORDER BY id") == amounts


def test_a_given_column_that_is_dropped_and_made_again(begin: Begin) -> None:
    replica = begin(MASKED)
    replica.at_source("ALTER TABLE t DROP note", "UPDATE t SET amount = 1", "ALTER TABLE t ADD note text DEFAULT 'new'")
    assert list(settled(replica).refresh.tables) == ["public.t"]


def test_a_given_column_that_is_renamed_stops_the_target_before(begin: Begin) -> None:
    """It would come as it is; the file is corrected, and the table is loaded anew."""
    replica = begin(MASKED)
    replica.at_source("UPDATE t SET note = 'again' WHERE id = 2", "ALTER TABLE t RENAME note TO mail")
    replica.at_source("UPDATE t SET mail = 'later' WHERE id = 1")
    for _ in range(2):
        with pytest.raises(DdlReplError, match="column note, which is called mail now") as caught:
            replica.replicate()
        assert "ADP-157" in caught.value.message and caught.value.table == "public.t"
    assert replica.rows("SELECT note FROM t WHERE id < 3 ORDER BY id") == [("i*2",), ("a*5",)]
    now(replica, transform=[{**MASKED, "columns": ["note", "mail"]}])
    assert list(replica.settle().refresh.tables) == ["public.t"]
    assert replica.rows("SELECT mail FROM t WHERE id < 3 ORDER BY id") == [("l*5",), ("a*5",)]


def test_a_given_column_that_becomes_the_key_stops_the_target_before(begin: Begin) -> None:
    replica = begin(MASKED)
    replica.at_source("UPDATE t SET note = id::text", "ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (note)")
    with pytest.raises(DdlReplError, match="gives column note, which is part of the key") as caught:
        replica.replicate()
    assert "ADP-155" in caught.value.message and caught.value.table == "public.t"
    now(replica, transform=[])
    settled(replica, "note")


def test_tables_come_into_the_entry_and_go_out_of_it(begin: Begin) -> None:
    replica = begin({**MASKED, "tables": "t|late"})
    replica.at_source(
        TABLE.replace("TABLE t", "TABLE late"),
        FULL.replace("TABLE t", "TABLE late"),
        ROWS.replace("INTO t", "INTO late"),
        "UPDATE late SET note = 'other' WHERE id = 1",
        "ALTER TABLE t RENAME TO u",
        "UPDATE u SET note = 'plain' WHERE id = 1",
    )
    told = settled(replica, table="late")
    assert list(told.refresh.tables) == ["public.u"]
    check(replica, "note", "u")
    replica.at_source("ALTER TABLE late RENAME TO gone", "ALTER TABLE u RENAME TO t", "UPDATE t SET note = 'hidden'")
    settled(replica)
    check(replica, "note", "gone")


def test_a_partition_has_the_function_of_its_table(begin: Begin) -> None:
    table = "CREATE TABLE t (id int, region text, amount int, note text) PARTITION BY LIST (region)"
    replica = begin(MASKED, statements=(table, "CREATE TABLE p (id int, region text, amount int, note text)"))
    replica.at_source("INSERT INTO p VALUES (1, 'EU', 1, 'x')")
    settled(replica, "note", "p")
    replica.at_source("ALTER TABLE t ATTACH PARTITION p FOR VALUES IN ('EU')")
    with pytest.raises(DdlReplError, match="ADP-149"):
        replica.replicate()
    now(replica, transform=[{**MASKED, "tables": ["t", "p"]}])
    settled(replica)
    with pytest.raises(Unsupported, match="ADP-149"):
        now(replica, transform=[MASKED])
        replica.activate()


@pytest.mark.parametrize(
    ("said", "code", "told"),
    [
        ({"columns": "id"}, "ADP-155", "gives column id, which is part of the key"),
        ({"columns": "g"}, "ADP-155", "gives column g, which is generated"),
        ({"function": "nowhere.at_all:masked"}, "ADP-156", "can't be imported here: ModuleNotFoundError"),
        ({"function": f"{OURS}:nothing"}, "ADP-156", "can't be imported here: AttributeError"),
        ({"function": f"{OURS}:NO_FUNCTION"}, "ADP-156", "is not a function"),
    ],
)
def test_what_can_not_be_is_refused_at_activation(begin: Begin, said: Any, code: str, told: str) -> None:
    computed = "ALTER TABLE t ADD g int GENERATED ALWAYS AS (id + 1) STORED"
    with pytest.raises(Unsupported) as caught:
        begin({**MASKED, **said}, statements=(TABLE, computed, FULL))
    assert (caught.value.code, caught.value.table) == (code, "public.t") and told in caught.value.message


def test_whole_rows_are_needed(begin: Begin, databases: Any, tmp_path: Path) -> None:
    with pytest.raises(Unsupported) as caught:
        begin(MASKED, statements=(TABLE, ROWS), source=LEAVE)
    assert (caught.value.code, caught.value.table) == ("ADP-154", "public.t")
    replica = Replica(databases.source, databases.target, tmp_path / "shop.yml")
    replica.at_source(caught.value.hint.removeprefix("at the source: ").partition(";")[0])
    replica.activate()
    check(replica)
    long = "repeat(md5(random()::text), 500)"
    replica.at_source("ALTER TABLE t ALTER note SET STORAGE EXTERNAL", f"UPDATE t SET note = {long}")
    settled(replica)
    replica.at_source("ALTER TABLE t REPLICA IDENTITY DEFAULT", "UPDATE t SET amount = 5")
    with pytest.raises(TargetError, match="INT-112"):
        replica.replicate()
    replica.at_source(FULL)
    replica.refresh("public.t")
    settled(replica)


FAILING = {
    "raising": "raised ValueError (line 49 of raising); its text is left out, because it may show a value",
    "raising_plainly": "raised KeyError: 'no_such_key' (line 53 of raising_plainly)",
    "shorter": "returned 3 rows for 4",
    "lacking": "returned no column note",
    "numbers": "returned column note of type int64, not string",
    "listed": "returned list, no RecordBatch",
}


@pytest.mark.parametrize("function", FAILING)
def test_a_function_that_fails_at_a_load(begin: Begin, function: str) -> None:
    """The target's table stays as it was, and no value of a row is told."""
    replica = begin(MASKED)
    now(replica, transform=[{**MASKED, "function": f"{OURS}:{function}"}])
    for _ in range(2):
        with pytest.raises(TargetError) as caught:
            replica.replicate()
        assert (caught.value.code, caught.value.table) == ("INT-114", "public.t")
        assert f"{OURS}:{function}" in caught.value.message and without_lines(FAILING[function]) in without_lines(
            caught.value.message
        )
        assert "cheap" not in str(caught.value)
    check(replica)
    now(replica, transform=[{**MASKED, "version": "3"}])
    settled(replica)


def without_lines(text: str) -> str:
    return "".join(char for char in text if not char.isdigit())


def test_a_function_that_fails_at_rows_of_the_log(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the stretch is applied; the next run goes on from there."""
    replica = begin(MASKED)
    replica.at_source("UPDATE t SET note = 'next'")
    with monkeypatch.context() as patched:
        patched.setattr(f"{OURS}.masked", None)
        with pytest.raises(DdlReplError, match="ADP-156"):
            replica.replicate()
        from tests.support import value_functions as values_of_ours

        patched.setattr(f"{OURS}.masked", values_of_ours.raising)
        with pytest.raises(DdlReplError, match="INT-114"):
            replica.replicate()
        assert "suspended at target warehouse: INT-114" in replica.compare().text()
    check(replica, "CASE id WHEN 1 THEN 'i*2' WHEN 2 THEN 'c*5' WHEN 3 THEN 'f*3' ELSE 'n*2' END")
    settled(replica)


def test_text_that_the_type_of_the_column_refuses(begin: Begin) -> None:
    replica = begin()
    now(replica, transform=[{**MASKED, "columns": "amount", "function": f"{OURS}:not_a_number"}])
    with pytest.raises(DdlReplError, match="invalid input syntax for type numeric") as caught:
        replica.replicate()
    assert (caught.value.code, caught.value.table) == ("TGT-120", "public.t")
    check(replica, "note")
    now(replica, transform=[{**MASKED, "columns": "amount", "function": f"{OURS}:not_a_number_later"}])
    settled(replica, "note")
    replica.at_source("UPDATE t SET amount = 1000", "INSERT INTO t VALUES (9, 'EU', 1, 'x')")
    with pytest.raises(TargetError, match="invalid input syntax for type numeric"):
        replica.replicate()
    assert replica.rows("SELECT count(*) FROM t") == [(4,)]
    replica.at_source("UPDATE t SET amount = 1")
    settled(replica, "note")


def test_a_comparison_says_that_a_table_is_held(begin: Begin) -> None:
    replica = begin(MASKED)
    with psycopg.connect(replica.source) as other:
        other.execute("ALTER TABLE t ADD late int")
        lines = [line for line in replica.compare().text().splitlines() if "SRC-180" in line]
    (line,) = lines
    assert "the source's table can't be read" in line and "uncommitted schema change" in line
