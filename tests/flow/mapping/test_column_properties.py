"""column_properties: columns with another name at the target, or not there, through every change of the source."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.errors import CannotAdapt, ConfigError, DdlReplError
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Replica, channel_file

Begin = Callable[..., Replica]
NOTE = {"columns": "note|remark", "name": "comment"}
SECRET = {"columns": "secret*", "absent": True}


@pytest.fixture
def begin(databases: Any, tmp_path: Path) -> Begin:
    """An active channel with these properties; without statements a table `t`."""

    def make(*properties: Any, statements: tuple[str, ...] = (), **more: Any) -> Replica:
        file = channel_file(tmp_path, databases.source, databases.target, column_properties=list(properties), **more)
        made = Replica(databases.source, databases.target, file)
        made.at_source(
            *(statements or ("CREATE TABLE t (id int PRIMARY KEY, note text)", "INSERT INTO t VALUES (1, 'one')"))
        )
        made.activate()
        made.check_equal()
        return made

    return make


def now(replica: Replica, **sections: Any) -> None:
    """The channel file says this from here on."""
    data = {**yaml.safe_load(replica.file.read_text()), **sections}
    replica.file.write_text(yaml.safe_dump(data))


def rows(replica: Replica, table: str = "t") -> list[Any]:
    return [found for (found,) in replica.rows(f"SELECT to_jsonb(x) FROM {table} x ORDER BY id")]


def columns(replica: Replica, table: str = "t") -> dict[str, str]:
    query = (
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute"
        f" WHERE attrelid = '{table}'::regclass AND attnum > 0 AND NOT attisdropped"
    )
    return dict(replica.rows(query))


def test_a_new_column_and_a_new_table_have_the_name_of_the_property(begin: Begin) -> None:
    """It was written for all tables before either was there."""
    replica = begin(NOTE, {"columns": "nr", "name": "number"}, SECRET)
    assert rows(replica) == [{"id": 1, "comment": "one"}]
    replica.at_source(
        "ALTER TABLE t ADD nr int NOT NULL DEFAULT 7, ADD secret text NOT NULL DEFAULT 'x'",
        "INSERT INTO t VALUES (2, 'two', 8, 'y')",
        "CREATE TABLE late (id int PRIMARY KEY, remark text, secret_too int, nr int)",
        "INSERT INTO late VALUES (1, 'late', 3, 4)",
    )
    told = replica.settle()
    assert told.refresh.tables == {}
    assert rows(replica) == [{"id": 1, "comment": "one", "number": 7}, {"id": 2, "comment": "two", "number": 8}]
    assert rows(replica, "late") == [{"id": 1, "comment": "late", "number": 4}]
    replica.at_source("UPDATE late SET remark = 'r', secret_too = 5", "UPDATE t SET secret = 'z', note = 'n'")
    replica.settle()
    assert rows(replica, "late") == [{"id": 1, "comment": "r", "number": 4}]
    assert [row["comment"] for row in rows(replica)] == ["n", "n"]


def test_a_rename_at_the_source_goes_through_the_pattern(begin: Begin) -> None:
    """Within it nothing changes; out of it and into it the target renames. No row is brought anew."""
    replica = begin(NOTE)
    replica.at_source("ALTER TABLE t RENAME note TO remark", "INSERT INTO t VALUES (2, 'two')")
    told = replica.settle()
    assert (told.adapt.statements, rows(replica)[1]) == (0, {"id": 2, "comment": "two"})
    for name, there in (("free", "free"), ("note", "comment")):
        old = "remark" if name == "free" else "free"
        replica.at_source(f"ALTER TABLE t RENAME {old} TO {name}", f"UPDATE t SET {name} = '{name}' WHERE id = 2")
        told = replica.settle()
        assert told.refresh.tables == {} and rows(replica) == [{"id": 1, there: "one"}, {"id": 2, there: name}]
    replica.at_source("ALTER TABLE t RENAME note TO secret")
    now(replica, column_properties=[NOTE, SECRET])
    assert replica.settle().refresh.tables == {}
    assert columns(replica) == {"id": "integer"}
    replica.at_source("INSERT INTO t VALUES (3, 'three')", "ALTER TABLE t RENAME secret TO shown")
    assert replica.settle().refresh.tables == {"public.t": 3}
    assert rows(replica) == [{"id": 1, "shown": "one"}, {"id": 2, "shown": "note"}, {"id": 3, "shown": "three"}]


def test_types_of_renamed_columns_change_as_the_statement_says(begin: Begin) -> None:
    """The statement names the source's column; another one has that name at the target."""
    replica = begin(
        {"columns": "a", "name": "b"},
        {"columns": "b", "name": "a"},
        statements=(
            "CREATE TABLE t (id int PRIMARY KEY, a varchar(5), b text)",
            "INSERT INTO t VALUES (1, '11', '22')",
        ),
    )
    replica.at_source("ALTER TABLE t ALTER a TYPE varchar(12)", "INSERT INTO t VALUES (2, 'longer than', '2')")
    assert replica.settle().refresh.tables == {}
    assert columns(replica) == {"id": "integer", "b": "character varying(12)", "a": "text"}
    replica.at_source("DELETE FROM t WHERE id = 2", "ALTER TABLE t ALTER b TYPE int USING b::int")
    assert replica.settle().refresh.tables == {}
    replica.at_source("ALTER TABLE t ALTER a TYPE int USING a::int + 1")
    assert replica.settle().refresh.tables == {"public.t": 1}
    assert rows(replica) == [{"id": 1, "a": 22, "b": 12}]


def test_a_key_column_an_index_a_check_and_what_is_computed_follow(begin: Begin) -> None:
    replica = begin(
        {"columns": "id", "name": "nr"},
        {"columns": "v", "name": "order"},
        statements=(
            "CREATE TABLE t (id int PRIMARY KEY, v int, g int GENERATED ALWAYS AS (v * 2 + id) STORED)",
            "INSERT INTO t VALUES (1, 10)",
        ),
    )
    replica.at_target('CREATE INDEX mine ON t ("order")', 'ALTER TABLE t ADD CHECK ("order" < 100)')
    replica.at_source("UPDATE t SET id = 5", "INSERT INTO t VALUES (2, 20), (3, 30)", "DELETE FROM t WHERE id = 3")
    replica.settle()
    found = replica.rows("SELECT to_jsonb(t) FROM t ORDER BY nr")
    assert found == [({"nr": 2, "order": 20, "g": 42},), ({"nr": 5, "order": 10, "g": 25},)]
    now(replica, column_properties=[{"columns": "id", "name": "nr"}, {"columns": "v", "name": "value"}])
    assert replica.settle().refresh.tables == {}
    assert replica.rows("SELECT indexdef FROM pg_indexes WHERE indexname = 'mine'")[0][0].endswith("(value)")
    checks = replica.rows(
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 't'::regclass AND contype = 'c'"
    )
    assert checks == [("CHECK ((value < 100))",)]
    replica.at_source("ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (id, v)", "UPDATE t SET v = v + 1")
    replica.settle()
    replica.refresh("public.t", options="-gr")
    replica.check_equal()


@pytest.mark.parametrize("granularity", ["-gb", "-gr"])
def test_a_refresh_reads_the_sources_columns_and_writes_the_targets(begin: Begin, granularity: str) -> None:
    replica = begin(
        NOTE,
        SECRET,
        statements=(
            "CREATE TABLE t (id int PRIMARY KEY, note text, secret text NOT NULL)",
            "INSERT INTO t VALUES (1, 'one', 'x'), (2, 'two', 'y')",
        ),
    )
    replica.at_target("DELETE FROM t WHERE id = 1", "UPDATE t SET comment = 'other'", "INSERT INTO t VALUES (9, '9')")
    replica.refresh("public.t", options=granularity)
    replica.check_equal()
    assert rows(replica) == [{"id": 1, "comment": "one"}, {"id": 2, "comment": "two"}]


def test_a_table_without_a_key_has_rows_that_differ_in_what_is_absent(begin: Begin) -> None:
    replica = begin(
        SECRET, statements=("CREATE TABLE t (id int, secret int)", "INSERT INTO t VALUES (1, 1), (1, 2), (2, 3)")
    )
    replica.at_source(
        "UPDATE t SET secret = 7 WHERE secret = 1",
        "DELETE FROM t WHERE secret = 2",
        "UPDATE t SET id = 5 WHERE secret = 3",
        "INSERT INTO t VALUES (5, 9)",
    )
    replica.settle()
    assert rows(replica) == [{"id": 1}, {"id": 5}, {"id": 5}]


def test_the_file_changes_between_two_runs(begin: Begin) -> None:
    """A rename is made, what is absent goes, what is not absent any more is filled; also where nothing else happens."""
    replica = begin(NOTE)
    now(replica, column_properties=[{"columns": "note", "name": "remark"}])
    (planned,) = replica.plan().targets["warehouse"]
    assert (planned.changes, planned.needs_refresh) == (("rename_column comment -> remark",), False)
    told = replica.settle()
    assert (told.adapt.changes, told.refresh.tables) == ({"rename_column": 1}, {})
    assert rows(replica) == [{"id": 1, "remark": "one"}]
    assert replica.replicate().adapt.changes == {}
    now(replica, column_properties=[{"columns": "note", "absent": True}])
    replica.at_source("INSERT INTO t VALUES (2, 'two')")
    replica.settle()
    assert rows(replica) == [{"id": 1}, {"id": 2}]
    now(replica, column_properties=[])
    assert replica.settle().refresh.tables == {"public.t": 2}
    assert rows(replica) == [{"id": 1, "note": "one"}, {"id": 2, "note": "two"}]


def test_a_changed_file_is_work_for_adapt_although_nothing_was_captured(begin: Begin) -> None:
    replica = begin()
    replica.replicate()
    now(replica, column_properties=[NOTE])
    with flow.open_channel(replica.file, InProcess()) as run:
        captured = run.captured()
        assert flow.has_work(run.channel, "adapt")
        assert flow.adapt(run).changes == {"rename_column": 1}
        assert not flow.has_work(run.channel, "adapt") and run.captured() == captured
    replica.check_equal()


def test_a_name_that_is_taken_by_peoples_own_stops_until_it_is_free(begin: Begin) -> None:
    replica = begin()
    replica.at_target("ALTER TABLE t ADD comment text")
    now(replica, column_properties=[NOTE])
    replica.at_source("INSERT INTO t VALUES (2, 'two')")
    for _ in range(2):
        with pytest.raises(DdlReplError, match="ADP-130"):
            replica.replicate()
    replica.at_target("ALTER TABLE t DROP comment")
    replica.settle()


def test_a_target_that_does_not_follow_keeps_its_names(begin: Begin) -> None:
    """It is told once; rows find their columns all the same."""
    replica = begin({"columns": "note", "name": "first"}, defaults="hvr", adapt_ddl=[])
    replica.at_source("ALTER TABLE t ADD more int", "UPDATE t SET note = 'a'")
    now(replica, column_properties=[NOTE])
    told = replica.replicate()
    assert any("the channel file has other settings" in warning for warning in told.adapt.warnings)
    replica.at_source("ALTER TABLE t RENAME note TO remark", "INSERT INTO t VALUES (2, 'b', 1)")
    assert not any("the channel file" in warning for warning in replica.replicate().adapt.warnings)
    assert rows(replica) == [{"id": 1, "first": "a"}, {"id": 2, "first": "b"}]


def test_what_is_absent_later_stays_where_the_structure_is_kept_and_gets_no_more_values(begin: Begin) -> None:
    replica = begin(adapt_ddl=[{"add_table_pattern": "*", "keep_existing_structure": True}])
    now(replica, column_properties=[{"columns": "note", "absent": True}])
    replica.at_source("INSERT INTO t VALUES (2, 'two')", "UPDATE t SET note = 'new' WHERE id = 1")
    replica.replicate()
    assert rows(replica) == [{"id": 1, "note": "one"}, {"id": 2, "note": None}]
    replica.refresh("public.t")
    assert rows(replica) == [{"id": 1, "note": "one"}, {"id": 2, "note": None}]


def test_one_target_of_two_has_the_property(begin: Begin, databases: Any, past: str) -> None:
    places = [{"name": "warehouse", "location": databases.target}, {"name": "second", "location": past}]
    replica = begin({**NOTE, "targets": "second"}, targets=places)
    other = Replica(replica.source, past, replica.file)
    assert (rows(replica), rows(other)) == ([{"id": 1, "note": "one"}], [{"id": 1, "comment": "one"}])
    replica.at_source("ALTER TABLE t RENAME note TO remark", "UPDATE t SET remark = 'r'")
    replica.settle()
    assert (rows(replica), rows(other)) == ([{"id": 1, "remark": "r"}], [{"id": 1, "comment": "r"}])


COMPUTED = "ALTER TABLE t ADD secret int, ADD g int GENERATED ALWAYS AS (secret + 1) STORED"
UNSURE = "ALTER TABLE t ADD lower text, ADD g text GENERATED ALWAYS AS (lower(note)) STORED"


@pytest.mark.parametrize(
    ("code", "said", "properties", "change"),
    [
        (
            "ADP-141",
            "make column u absent, which is part of the key",
            {"columns": "u", "absent": True},
            "ALTER TABLE t DROP CONSTRAINT t_pkey",
        ),
        ("ADP-142", "column g may be computed from it", SECRET, COMPUTED),
        ("ADP-143", "columns note and a the same name", {"columns": "a", "name": "note"}, "ALTER TABLE t ADD a int"),
        ("ADP-144", "what in `lower(note)` is that column", {"columns": "lower", "name": "upper"}, UNSURE),
    ],
)
def test_what_can_not_be_is_refused_right_before_the_change(
    begin: Begin, code: str, said: str, properties: Any, change: str
) -> None:
    table = "CREATE TABLE t (id int PRIMARY KEY, note text, u int NOT NULL UNIQUE)"
    replica = begin(properties, statements=(table, "INSERT INTO t VALUES (1, 'one', 1)"))
    replica.at_source("INSERT INTO t VALUES (2, 'two', 2)", change)
    for _ in range(2):
        with pytest.raises(DdlReplError) as caught:
            replica.replicate()
        assert code in caught.value.message and caught.value.table == "public.t" and said in caught.value.message
    assert replica.rows("SELECT count(*) FROM t") == [(2,)]
    now(replica, column_properties=[])
    replica.settle()


def test_a_file_that_asks_what_can_not_be_stops_until_it_says_otherwise(begin: Begin) -> None:
    replica = begin()
    now(replica, column_properties=[{"columns": "id", "absent": True}])
    replica.at_source("INSERT INTO t VALUES (2, 'two')")
    for _ in range(2):
        with pytest.raises(DdlReplError, match="ADP-141"):
            replica.replicate()
    now(replica, column_properties=[NOTE])
    replica.settle()
    assert rows(replica) == [{"id": 1, "comment": "one"}, {"id": 2, "comment": "two"}]


def test_two_columns_of_one_name_are_refused_at_activation(begin: Begin) -> None:
    with pytest.raises(CannotAdapt, match="ADP-143"):
        begin({"columns": "*", "name": "one"})


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"columns": "", "name": "x"}, "columns: '' can be no column's name"),
        ({"columns": '"' + "x" * 64 + '"', "absent": True}, "can be no column's name"),
        ({"columns": "a"}, "says either `name` or `absent: true`"),
        ({"columns": "a", "name": "x", "absent": True}, "says either `name` or `absent: true`"),
        ({"columns": "a", "name": "x", "targets": "elsewhere"}, "there is no target or replay elsewhere"),
        ({"columns": "a", "name": "ctid"}, "ctid is a system column's"),
        ("Name=a, Basename=b", "there is no parameter Basename; did you mean BaseName?"),
    ],
)
def test_a_property_that_says_nothing_is_told_with_its_line(tmp_path: Path, said: Any, told: str) -> None:
    file = channel_file(tmp_path, "postgresql://a/b", "postgresql://a/c", column_properties=[said])
    with pytest.raises(ConfigError) as caught:
        load_channel(file)
    assert told in caught.value.message
