"""restrict through changes of the source's tables and of the file: what it can't be right for stops, or is loaded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.engines.postgres.source import file_scope
from airflow_ddlrepl.errors import SourceError, Unsupported
from tests.support.refusing import refused
from tests.support.replica import Replica
from tests.support.restricting import EU, FULL, IS_EU, LEAVE, ROWS, TABLE, begun, check, ids, now, settled

Begin = Callable[..., Replica]


@pytest.fixture
def begin(databases: Any, tmp_path: Path) -> Begin:
    return partial(begun, databases, tmp_path)


def test_a_new_column_and_a_new_table(begin: Begin) -> None:
    """The entry was written before either was there."""
    replica = begin({**EU, "tables": "t|late"})
    replica.at_source(
        "ALTER TABLE t ADD more int NOT NULL DEFAULT 7",
        "UPDATE t SET amount = 150 WHERE id = 2",
        TABLE.replace("TABLE t", "TABLE late"),
        FULL.replace("TABLE t", "TABLE late"),
        ROWS.replace("INTO t", "INTO late"),
        "UPDATE late SET region = 'EU' WHERE id = 3",
        "UPDATE late SET amount = 0 WHERE id = 1",
    )
    told = settled(replica)
    assert told.refresh.tables == {}
    check(replica, table="late")
    assert (ids(replica), ids(replica, "late")) == ([1, 2], [3])


def test_a_table_that_fills_before_it_joins_is_loaded(begin: Begin) -> None:
    replica = begin({**EU, "tables": "*"}, adapt_ddl=[{"add_table_pattern": "t|late"}])
    replica.at_source(
        TABLE.replace("TABLE t", "TABLE early"),
        FULL.replace("TABLE t", "TABLE early"),
        ROWS.replace("INTO t", "INTO early"),
    )
    replica.replicate()
    replica.at_source("ALTER TABLE early RENAME TO late", "UPDATE late SET amount = 500 WHERE id = 2")
    assert replica.settle().refresh.tables == {"public.late": 2}
    check(replica, table="late")


@pytest.mark.parametrize("change", ["RENAME region TO area", "DROP region"])
def test_a_column_of_the_condition_that_goes_suspends_the_table_before(begin: Begin, change: str) -> None:
    """What comes before is applied, other tables go on; once the file is corrected, the table is loaded again."""
    replica = begin(EU, statements=(TABLE, FULL, ROWS, "CREATE TABLE u (id int PRIMARY KEY)"))
    replica.at_source("UPDATE t SET amount = 150 WHERE id = 2", f"ALTER TABLE t {change}")
    replica.at_source("UPDATE t SET note = 'later'")
    for number in range(2):
        replica.at_source(f"INSERT INTO u VALUES ({number})")
        error = refused(replica, "replicate", "ADP-147")
        assert error.table == "public.t" and "names column region, which the table does not have" in error.message
        assert len(ids(replica, "u")) == number + 1
    assert replica.rows("SELECT id, note FROM t ORDER BY id") == [(1, "in"), (2, "cheap")]
    after = IS_EU.replace("region", "area") if "area" in change else "amount > 100"
    now(replica, restrict=[{**EU, "condition": after}])
    assert settled(replica, after).refresh.tables == {"public.t": len(ids(replica))}
    replica.at_source("UPDATE t SET amount = 500 - amount")
    assert settled(replica, after).refresh.tables == {}


@pytest.mark.parametrize(
    "change",
    [
        "ALTER amount TYPE bigint",
        "ALTER amount TYPE numeric(9,2) USING amount * 3",
        "DROP region, ADD region text NOT NULL DEFAULT 'EU'",
    ],
)
def test_a_column_of_the_condition_that_changes_has_the_table_loaded_anew(begin: Begin, change: str) -> None:
    replica = begin(EU)
    replica.at_source(f"ALTER TABLE t {change}", "UPDATE t SET note = 'later' WHERE id < 3")
    assert list(settled(replica).refresh.tables) == ["public.t"]
    replica.at_source("UPDATE t SET region = 'EU'", "UPDATE t SET amount = 1 WHERE id = 1")
    assert settled(replica).refresh.tables == {}


def test_a_type_that_the_condition_can_not_be_over(begin: Begin) -> None:
    """The table is suspended before; another condition brings it up."""
    replica = begin({**EU, "condition": "note = 'in'"})
    replica.at_source("INSERT INTO t VALUES (7, '', 1, 'in')", "ALTER TABLE t ALTER note TYPE json USING to_json(note)")
    assert "its type is json" in refused(replica, "replicate", "ADP-148").message
    assert ids(replica) == [1, 7]
    now(replica, restrict=[EU])
    settled(replica)


def test_the_file_changes_its_mind(begin: Begin) -> None:
    """Another condition, none, and one again: the table is loaded anew, and `plan` tells so before."""
    replica = begin(EU)
    for condition in ("id >= 2", "", "region = 'US'", IS_EU):
        replica.at_source("UPDATE t SET note = note || 'x'")
        restrict = [{"tables": "t", "condition": condition}] if condition else []
        now(replica, restrict=restrict)
        (planned,) = replica.plan().targets["warehouse"]
        assert planned.needs_refresh and planned.steps[0].why.startswith("other rows by `restrict`")
        assert list(settled(replica, condition or "true").refresh.tables) == ["public.t"]
        replica.at_source("UPDATE t SET amount = amount + 30")
        assert settled(replica, condition or "true").refresh.tables == {}
    now(replica, restrict=[{"tables": "t", "condition": "(region='EU') and (AMOUNT > 100)"}])
    assert settled(replica).refresh.tables == {}


def test_a_target_that_does_not_follow_gets_other_rows_all_the_same(begin: Begin) -> None:
    """Policies are about shapes. Its column has the name that it had, and takes no values of the renamed one."""
    replica = begin(EU, defaults="hvr", adapt_ddl=[])
    replica.at_source("ALTER TABLE t RENAME note TO remark", "UPDATE t SET amount = 150 WHERE id = 2")
    now(replica, restrict=[{**EU, "condition": "region = 'US'"}])
    replica.replicate()
    replica.replicate()
    assert replica.rows("SELECT id, note FROM t") == [(3, None)]
    replica.at_source("UPDATE t SET region = 'US', remark = 'new' WHERE id = 1")
    replica.replicate()
    assert replica.rows("SELECT id, note FROM t ORDER BY id") == [(1, None), (3, None)]


def test_a_rename_of_the_table_brings_another_condition(begin: Begin) -> None:
    replica = begin(EU, {"tables": "u", "condition": "id > 2"})
    replica.at_source("ALTER TABLE t RENAME TO u", "UPDATE u SET note = 'x'")
    assert list(settled(replica, "id > 2", "u").refresh.tables) == ["public.u"]
    replica.at_source("UPDATE u SET id = id + 10")
    assert settled(replica, "id > 2", "u").refresh.tables == {}


def test_whole_old_rows_are_needed_from_the_beginning(begin: Begin, databases: Any, tmp_path: Path) -> None:
    with pytest.raises(Unsupported) as caught:
        begin(EU, statements=(TABLE, ROWS), source=LEAVE)
    assert (caught.value.code, caught.value.table) == ("ADP-154", "public.t")
    statement = caught.value.hint.removeprefix("at the source: ").partition(";")[0]
    replica = Replica(databases.source, databases.target, tmp_path / "shop.yml")
    replica.at_source(statement)
    replica.activate()
    check(replica)


def test_a_virtual_column_and_whole_old_rows_do_not_go_together(begin: Begin) -> None:
    """The server would refuse the source's own updates: what mends it else is told."""
    computed = "ALTER TABLE t ADD g int GENERATED ALWAYS AS (id + 1) VIRTUAL"
    with pytest.raises(Unsupported, match="ADP-154") as caught:
        begin(EU, statements=(TABLE, FULL, computed, ROWS))
    assert "while the table has a virtual generated column: take it out" in caught.value.hint
    with pytest.raises(Unsupported, match="ADP-148"):
        begin({**EU, "condition": "g > 1"}, statements=("CREATE TABLE u (id int)",))


def test_a_condition_that_comes_later_has_the_source_tell_whole_old_rows(begin: Begin) -> None:
    """The cycle that finds it in the file sets the replica identity and loads the table; the others go on."""
    replica = begin(statements=(TABLE, ROWS, "CREATE TABLE u (id int PRIMARY KEY)"))
    now(replica, restrict=[EU])
    replica.at_source("UPDATE t SET note = 'x'", "INSERT INTO u VALUES (1)")
    assert settled(replica).refresh.tables == {"public.t": 1}
    assert replica.rows("SELECT id FROM u") == [(1,)]
    replica.at_source("UPDATE t SET amount = 150 WHERE id = 2")
    assert settled(replica).refresh.tables == {}


def test_a_condition_that_comes_later_waits_for_whole_old_rows(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the run's role may not set a replica identity, the target goes on with all else until the source has it."""
    replica = begin(statements=(TABLE, ROWS, "CREATE TABLE u (id int PRIMARY KEY)"))
    monkeypatch.setattr(file_scope, "may_change", lambda *_: False)
    now(replica, restrict=[EU])
    replica.at_source("UPDATE t SET note = 'x'", "INSERT INTO u VALUES (1)")
    with pytest.raises(Unsupported, match="ADP-154"):
        replica.replicate()
    assert replica.rows("SELECT id FROM u") == [(1,)]
    replica.at_source(FULL, "UPDATE t SET amount = 150 WHERE id = 2")
    assert settled(replica).refresh.tables == {"public.t": 2}


def test_whole_old_rows_that_are_taken_away_suspend_the_table(begin: Begin) -> None:
    """At the first row that can't be told: the table is loaded again once they are back."""
    replica = begin(EU, source=LEAVE)
    replica.at_source("ALTER TABLE t REPLICA IDENTITY DEFAULT", "INSERT INTO t VALUES (8, 'EU', 800, 'in')")
    settled(replica)
    replica.at_source("UPDATE t SET region = 'US' WHERE id = 1")
    for _ in range(2):
        error = refused(replica, "replicate", "INT-112")
        assert error.table == "public.t"
    assert ids(replica) == [1, 8]
    with pytest.raises(Unsupported, match="ADP-154"):
        replica.refresh("public.t")
    replica.at_source(error.hint.removeprefix("at the source: ").partition(";")[0])
    replica.refresh("public.t")
    settled(replica)
    assert ids(replica) == [8]


@pytest.mark.parametrize(
    ("condition", "code", "said"),
    [
        ("nothing = 1", "ADP-147", "names column nothing"),
        ("note > 'a'", "ADP-148", "texts are ordered otherwise"),
        ("amount = note", "ADP-148", "compares number with text"),
        ("amount::date > '2026-01-01'", "ADP-148", "a number column is not cast to date"),
        ("amount > 'ten'", "ADP-148", 'invalid input syntax for type numeric: "ten"'),
        ("note", "ADP-148", "is neither true nor false"),
    ],
)
def test_a_condition_that_can_not_be_is_refused_at_activation(
    begin: Begin, condition: str, code: str, said: str
) -> None:
    with pytest.raises(Unsupported) as caught:
        begin({**EU, "condition": condition})
    assert (caught.value.code, caught.value.table) == (code, "public.t") and said in caught.value.message


@pytest.mark.parametrize("on_error", ["suspend_table", "stop"])
def test_a_row_that_has_no_answer_is_not_guessed(begin: Begin, on_error: str) -> None:
    """Its table is suspended, or the target stops; another condition has an answer."""
    replica = begin(
        {**EU, "condition": "amount * 1000000::integer * id::integer > 5"},
        statements=("CREATE TABLE t (id int PRIMARY KEY, amount int)", FULL, "INSERT INTO t VALUES (1, 1)"),
    )
    now(replica, targets=[{"name": "warehouse", "location": replica.target, "on_error": on_error}])
    replica.at_source("INSERT INTO t VALUES (2, 2000000)")
    error = refused(replica, "replicate", "INT-113")
    assert "integer out of range" in error.message and error.code == ("INT-113" if on_error == "stop" else "INT-123")
    now(replica, restrict=[{**EU, "condition": "amount::bigint * 1000000 * id > 5"}])
    settled(replica, "amount::bigint * 1000000 * id > 5")


def test_a_partition_has_the_condition_of_its_table(begin: Begin) -> None:
    """One that would have another is refused, also when it is attached."""
    table = "CREATE TABLE t (id int, region text, amount int) PARTITION BY LIST (region)"
    replica = begin(EU, statements=(table, "CREATE TABLE p (id int, region text, amount int)"))
    replica.at_source("INSERT INTO p VALUES (1, 'EU', 1)")
    settled(replica, "true", "p")
    replica.at_source("ALTER TABLE t ATTACH PARTITION p FOR VALUES IN ('EU')")
    refused(replica, "replicate", "ADP-149")
    now(replica, restrict=[{**EU, "tables": ["t", "p"]}])
    settled(replica)
    with pytest.raises(Unsupported, match="ADP-149"):
        now(replica, restrict=[EU])
        replica.activate()


def test_a_source_that_can_not_be_asked(begin: Begin) -> None:
    """A row that has no answer there stops the refresh: the target's table is as it was."""
    replica = begin(
        {**EU, "condition": "amount * 1000000 > 5"},
        statements=("CREATE TABLE t (id int PRIMARY KEY, amount int)", FULL, "INSERT INTO t VALUES (1, 1)"),
    )
    replica.at_source("INSERT INTO t VALUES (2, 2000000)")
    with pytest.raises(SourceError, match="integer out of range"):
        replica.refresh("public.t")
    assert ids(replica) == [1]
