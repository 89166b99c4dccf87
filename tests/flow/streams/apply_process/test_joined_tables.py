"""Tables that join a channel between activations: no row of them is missing at an apply process's target unsaid."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import ApplyError
from tests.flow.streams.streams_channel import APPLY, CAPTURE, StreamsChannel, streams_channel
from tests.support.crashing import die
from tests.support.refusing import ask
from tests.support.replica import BOTH, run

PUBLICATION = "ALTER PUBLICATION ddlrepl_hr"
TABLES = (
    "CREATE SCHEMA hr",
    "CREATE SCHEMA oe",
    "CREATE SCHEMA other",
    "CREATE TABLE hr.t (id int PRIMARY KEY, k int)",
    "CREATE TABLE hr.u (id int PRIMARY KEY, k int)",
    "INSERT INTO hr.t VALUES (1, 1)",
    "INSERT INTO hr.u VALUES (1, 1), (2, 2)",
)


def schema(of: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"add_schema_rules": {"schema_name": "hr", **of, **more}}


def table(of: dict[str, Any], name: str, **more: Any) -> dict[str, Any]:
    return {"add_table_rules": {"table_name": name, **of, **more}}


def begun(databases: Any, folder: Path, *calls: dict[str, Any], **more: Any) -> StreamsChannel:
    target = {"name": "site", "location": databases.target, "apply": "app"}
    channel = streams_channel(folder, databases.source, *calls, targets=[target], **more)
    channel.at_source(*TABLES)
    channel.activate(load=True)
    return channel


def cycle(channel: StreamsChannel, *statements: str) -> Any:
    channel.at_source(*statements)
    return channel.stage(flow.replicate).apply


def lacking(channel: StreamsChannel) -> list[str]:
    (state,) = channel.stage(flow.status).to_json()["apply"]
    return [text.split(" ")[0] for text in state["lacking"]]


def same(databases: Any, *tables: str) -> bool:
    return all(
        ask(databases.source, f"TABLE {t} ORDER BY 1") == ask(databases.target, f"TABLE {t} ORDER BY 1") for t in tables
    )


@BOTH
def test_a_new_table_without_ddl_rules_is_loaded_by_the_cycle(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, schema(CAPTURE), schema(APPLY))
    done = cycle(channel, "CREATE TABLE hr.later (id int PRIMARY KEY)", "INSERT INTO hr.later VALUES (1)")
    assert done.loaded == {"site: hr.later": 1}
    assert cycle(channel, "INSERT INTO hr.later VALUES (2)", "DELETE FROM hr.later WHERE id = 1").loaded == {}
    assert same(databases, "hr.later") and lacking(channel) == []


@BOTH
def test_a_rule_that_is_new_brings_the_rows_that_a_table_had(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, table(CAPTURE, "hr.t"), table(APPLY, "hr.t"))
    cycle(channel, "INSERT INTO hr.u VALUES (3, 3)")
    channel.change(calls=[table(one, name) for one in (CAPTURE, APPLY) for name in ("hr.t", "hr.u")])
    assert cycle(channel, "UPDATE hr.u SET k = 9 WHERE id = 1").loaded == {"site: hr.u": 3}
    cycle(channel, "INSERT INTO hr.u VALUES (4, 4)", "DELETE FROM hr.u WHERE id = 2")
    assert same(databases, "hr.t", "hr.u") and lacking(channel) == []


def test_a_table_that_the_target_has_is_told_by_the_run_and_the_status(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, table(CAPTURE, "hr.t"), table(APPLY, "hr.t"))
    run(databases.target, TABLES[4])
    channel.change(calls=[table(one, name) for one in (CAPTURE, APPLY) for name in ("hr.t", "hr.u")])
    done = cycle(channel, "INSERT INTO hr.u VALUES (3, 3)")
    assert [one for one in done.warnings if "hr.u: its rows stay as they are" in one]
    assert ask(databases.target, "TABLE hr.u") == [(3, 3)]
    assert lacking(channel) == ["hr.u"]
    assert "hr.u may lack rows from before" in channel.stage(flow.status).text()
    run(databases.target, "DROP TABLE hr.u")
    channel.activate(load=True)
    assert same(databases, "hr.u") and lacking(channel) == []


@BOTH
def test_a_table_that_another_one_replaces_is_told_by_each_run_and_the_status(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, schema(CAPTURE), schema(APPLY))
    again = ("DROP TABLE hr.t", TABLES[3], "INSERT INTO hr.t VALUES (7, 7)")
    for done in (cycle(channel, *again), cycle(channel, "INSERT INTO hr.t VALUES (8, 8)")):
        assert [one for one in done.warnings if "hr.t may lack rows" in one and "another table has its name" in one]
    assert ask(databases.target, "TABLE hr.t ORDER BY 1") == [(1, 1), (7, 7), (8, 8)]
    assert lacking(channel) == ["hr.t"]
    run(databases.target, "DROP TABLE hr.t")
    channel.activate(load=True)
    assert same(databases, "hr.t") and lacking(channel) == []
    assert not cycle(channel, "INSERT INTO hr.t VALUES (9, 9)").warnings and same(databases, "hr.t")


def test_a_table_that_ddl_replaces_lacks_nothing(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, schema(CAPTURE, include_ddl=True), schema(APPLY, include_ddl=True))
    cycle(channel, "DROP TABLE hr.t", TABLES[3], "INSERT INTO hr.t VALUES (7, 7)")
    cycle(channel, "ALTER TABLE hr.t RENAME TO former", TABLES[3], "INSERT INTO hr.t VALUES (8, 8)")
    assert same(databases, "hr.t", "hr.former") and lacking(channel) == []


def test_a_person_says_what_a_table_of_the_target_has(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, table(CAPTURE, "hr.t"), table(APPLY, "hr.t"))
    run(databases.target, TABLES[4], TABLES[6])
    (position,) = ask(databases.source, "SELECT (pg_current_wal_lsn() - '0/0')::bigint")[0]
    given = {"source_object_name": "hr.u", "source_database_name": "dbs1", "instantiation_scn": int(position)}
    rules = [table(one, name) for one in (CAPTURE, APPLY) for name in ("hr.t", "hr.u")]
    channel.change(calls=[*rules, {"set_table_instantiation_scn": given}])
    cycle(channel, "INSERT INTO hr.u VALUES (3, 3)")
    assert same(databases, "hr.u") and lacking(channel) == []


@BOTH
def test_a_table_that_ddl_brings_comes_by_it_alone(databases: Any, tmp_path: Path) -> None:
    """Its checks and defaults come with the statement; a table that is renamed stays what it is."""
    channel = begun(databases, tmp_path, schema(CAPTURE, include_ddl=True), schema(APPLY, include_ddl=True))
    done = cycle(
        channel,
        "CREATE TABLE hr.later (id int PRIMARY KEY, k int CHECK (k > 0)); INSERT INTO hr.later VALUES (1, 1)",
        "ALTER TABLE hr.t RENAME TO s",
        "INSERT INTO hr.s VALUES (2, 2)",
    )
    assert (done.loaded, done.errors) == ({}, 0)
    assert [one for one in done.warnings if "rows" in one] == []
    assert ask(
        databases.target, "SELECT count(*) FROM pg_constraint WHERE conrelid = 'hr.later'::regclass AND contype = 'c'"
    ) == [(1,)]
    assert same(databases, "hr.later", "hr.s") and lacking(channel) == []
    channel.activate(load=True)
    assert cycle(channel, "INSERT INTO hr.later VALUES (2, 2)").loaded == {}
    assert same(databases, "hr.later", "hr.s") and lacking(channel) == []


@pytest.mark.parametrize("is_taken", [True, False], ids=["ddl rules", "row rules"])
def test_a_table_that_is_made_with_its_rows_has_the_source_s_rows(
    databases: Any, tmp_path: Path, is_taken: bool
) -> None:
    """CREATE TABLE AS: what its query would find at the target does not count."""
    channel = begun(databases, tmp_path, schema(CAPTURE, include_ddl=is_taken), schema(APPLY, include_ddl=is_taken))
    run(databases.target, "INSERT INTO hr.u VALUES (77, 77)")
    done = cycle(channel, "CREATE TABLE hr.copy AS SELECT * FROM hr.u", "INSERT INTO hr.copy VALUES (8, 8)")
    assert done.loaded == {"site: hr.copy": 3}
    cycle(channel, "UPDATE hr.copy SET k = 0 WHERE id = 8")
    assert same(databases, "hr.copy") and lacking(channel) == []


@pytest.mark.parametrize(
    ("statement", "made"),
    [
        ("CREATE TABLE hr.copy AS TABLE hr.u WITH NO DATA", "hr.copy"),
        ("BEGIN; SELECT * INTO hr.copy FROM hr.u WHERE false; COMMIT", "hr.copy"),
        ("CREATE SCHEMA own CREATE TABLE copy (id int, k int)", "own.copy"),
    ],
)
def test_a_table_of_a_statement_that_no_target_runs_is_loaded(
    databases: Any, tmp_path: Path, statement: str, made: str
) -> None:
    rules = [{"add_global_rules": {**one, "include_ddl": True}} for one in (CAPTURE, APPLY)]
    channel = begun(databases, tmp_path, *rules, place={"tables": ["hr.*", "own.*"]})
    assert cycle(channel, statement).loaded == {f"site: {made}": 0}
    assert not cycle(channel, f"INSERT INTO {made} VALUES (8, 8)").waiting and same(databases, made)


def test_a_table_of_a_query_that_replaces_another_is_told(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, schema(CAPTURE, include_ddl=True), schema(APPLY, include_ddl=True))
    cycle(channel, "DROP TABLE hr.u", "CREATE TABLE hr.u AS TABLE hr.t WITH NO DATA")
    assert lacking(channel) == ["hr.u"]
    channel.activate(load=True)
    cycle(channel, "INSERT INTO hr.u VALUES (8, 8)")
    assert same(databases, "hr.u") and lacking(channel) == []


@BOTH
def test_a_table_that_comes_under_a_name_of_the_channel_has_its_rows(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, schema(CAPTURE), schema(APPLY))
    channel.at_source("CREATE TABLE other.moved (id int PRIMARY KEY)", "INSERT INTO other.moved VALUES (1), (2)")
    done = cycle(channel, "ALTER TABLE other.moved SET SCHEMA hr", "INSERT INTO hr.moved VALUES (3)")
    assert done.loaded == {"site: hr.moved": 3}
    assert same(databases, "hr.moved")


@BOTH
@pytest.mark.parametrize(
    ("away", "back"),
    [
        (f"{PUBLICATION} DROP TABLE hr.u", f"{PUBLICATION} ADD TABLE hr.u"),
        (f"{PUBLICATION} SET (publish = 'delete')", f"{PUBLICATION} SET (publish = 'insert,update,delete,truncate')"),
        (f"{PUBLICATION} SET TABLE hr.t, hr.u WHERE (k = 1)", f"{PUBLICATION} SET TABLE hr.t, hr.u"),
        ("ALTER TABLE hr.u SET UNLOGGED", "ALTER TABLE hr.u SET LOGGED"),
    ],
    ids=["taken out", "options", "filter", "unlogged"],
)
def test_changes_while_a_table_was_not_published_fail_each_run_until_it_is_loaded_again(
    databases: Any, tmp_path: Path, away: str, back: str
) -> None:
    channel = begun(databases, tmp_path, schema(CAPTURE), schema(APPLY))
    with pytest.raises(ApplyError, match=r"APL-138: .*hr\.u may lack changes from before"):
        cycle(channel, away, "INSERT INTO hr.u VALUES (3, 3)", back, "INSERT INTO hr.u VALUES (4, 4)")
    assert (3, 3) not in ask(databases.target, "TABLE hr.u")
    for statement in ("INSERT INTO hr.t VALUES (7, 7)", "SELECT 1"):
        with pytest.raises(ApplyError, match=r"APL-138: .*hr\.u may lack changes from before"):
            cycle(channel, statement)
        assert "hr.u" in lacking(channel) and (4, 4) in ask(databases.target, "TABLE hr.u")
    assert (7, 7) in ask(databases.target, "TABLE hr.t")
    run(databases.target, *(f"DROP TABLE {name}" for name in lacking(channel)))
    channel.activate(load=True)
    assert lacking(channel) == [] and cycle(channel, "DELETE FROM hr.u WHERE id = 1").warnings == ()
    assert same(databases, "hr.t", "hr.u")


def test_rows_that_other_rules_take_now_are_told_until_the_table_is_loaded_again(
    databases: Any, tmp_path: Path
) -> None:
    def subset(condition: str) -> list[dict[str, Any]]:
        return [schema(CAPTURE), {"add_subset_rules": {"table_name": "hr.u", "dml_condition": condition, **APPLY}}]

    channel = begun(databases, tmp_path, *subset("k = 1"))
    assert cycle(channel, "INSERT INTO hr.u VALUES (3, 3)").warnings == ()
    channel.change(function_seconds=30)
    assert cycle(channel, "INSERT INTO hr.u VALUES (4, 1)").warnings == () and lacking(channel) == []
    channel.change(calls=subset("k < 3"))
    (warning,) = cycle(channel, "INSERT INTO hr.u VALUES (5, 2)").warnings
    assert "hr.u may lack rows from before" in warning and "the rules that take its rows have changed" in warning
    assert ask(databases.target, "SELECT id FROM hr.u ORDER BY 1") == [(1,), (4,), (5,)]
    assert cycle(channel, "INSERT INTO hr.u VALUES (6, 2)").warnings == () and lacking(channel) == ["hr.u"]
    run(databases.target, "DROP TABLE hr.u")
    channel.activate(load=True)
    assert cycle(channel, "INSERT INTO hr.u VALUES (7, 2)").warnings == () and lacking(channel) == []
    assert ask(databases.target, "SELECT id FROM hr.u ORDER BY 1") == [(1,), (2,), (4,), (5,), (6,), (7,)]


def test_rows_that_a_changed_function_has_given_are_told_as_after_a_change_of_rules(
    databases: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(added: str, above: str = "") -> None:
        body = f'return replace(lcr, new={{**lcr.new, "k": {added}}})'
        (tmp_path / "own_masks.py").write_text(
            f"from dataclasses import replace\n{above}\n\ndef mask(lcr):\n    {body}\n"
        )
        sys.modules.pop("own_masks", None)
        importlib.invalidate_caches()

    write("7")
    function = {"set_rule_transform_function": {"rule_name": "masked", "transform_function": "mask"}}
    calls = (schema(CAPTURE), table(APPLY, "hr.u", dml_rule_name="masked"), table(APPLY, "hr.t"), function)
    channel = begun(databases, tmp_path, *calls, functions={"mask": "own_masks:mask"})
    assert cycle(channel, "INSERT INTO hr.u VALUES (3, 3)").warnings == ()
    write("7", "# something else of the module\n")
    assert cycle(channel, "INSERT INTO hr.u VALUES (4, 4)").warnings == () and lacking(channel) == []
    write("88")
    (warning,) = cycle(channel, "INSERT INTO hr.u VALUES (5, 5)").warnings
    assert "hr.u may lack rows from before" in warning and "or a function that they call" in warning
    assert ask(databases.target, "SELECT k FROM hr.u ORDER BY id") == [(7,), (7,), (7,), (7,), (88,)]
    assert cycle(channel, "INSERT INTO hr.t VALUES (6, 6)").warnings == () and lacking(channel) == ["hr.u"]


def test_a_table_that_joins_one_that_others_share_is_refused_where_it_has_rows(databases: Any, tmp_path: Path) -> None:
    """Rows of two tables come together at the target: a third one joins them if the log has all of its rows."""
    queues = {"streams_name": "prop", "source_queue_name": "q1", "destination_queue_name": "q2"}
    passed = [
        {
            "add_table_propagation_rules": {
                "table_name": f"hr.{n}",
                **queues,
                "dml_rule_name": f"r_{n}",
                "source_database": "dbs1",
            }
        }
        for n in "tuvw"
    ]
    renames = [
        {"rename_table": {"rule_name": f"r_{n}", "from_table_name": f"hr.{n}", "to_table_name": "hr.all"}}
        for n in "tuvw"
    ]
    keyless = "ALTER TABLE hr.u DROP CONSTRAINT u_pkey"
    target = {"name": "site", "location": databases.target, "apply": "app"}
    calls = (schema(CAPTURE), *passed, *renames, {"add_global_rules": {**APPLY, "queue_name": "q2"}})
    channel = streams_channel(tmp_path, databases.source, *calls, targets=[target])
    channel.at_source(*TABLES, keyless, "ALTER TABLE hr.t DROP CONSTRAINT t_pkey")
    channel.activate(load=True)
    assert ask(databases.target, "SELECT count(*) FROM hr.all") == [(3,)]
    cycle(
        channel, "INSERT INTO hr.t VALUES (9, 9)", "CREATE TABLE hr.v (id int, k int)", "INSERT INTO hr.v VALUES (5, 5)"
    )
    assert ask(databases.target, "SELECT count(*) FROM hr.all") == [(5,)]
    with pytest.raises(ApplyError) as error:
        cycle(channel, "CREATE TABLE hr.w AS SELECT 6 AS id, 6 AS k", "INSERT INTO hr.w VALUES (7, 7)")
    assert error.value.code == "APL-132"
    assert ask(databases.target, "SELECT count(*) FROM hr.all") == [(5,)]


def test_a_table_of_triggers_that_comes_later_is_loaded(databases: Any, tmp_path: Path) -> None:
    sync = {"streams_type": "sync_capture", "streams_name": "sync", "queue_name": "q3"}
    calls = [table(sync, name) for name in ("hr.t", "hr.later")]
    channel = begun(databases, tmp_path, *calls, schema({**APPLY, "queue_name": "q3"}))
    channel.at_source("CREATE TABLE hr.later (id int PRIMARY KEY)", "INSERT INTO hr.later VALUES (1)")
    cycle(channel)
    cycle(channel, "INSERT INTO hr.later VALUES (2)", "INSERT INTO hr.t VALUES (2)")
    assert same(databases, "hr.later", "hr.t")


@pytest.mark.parametrize("point", ["instantiate.copied", "instantiate.committed", "apply.transaction"])
def test_a_cycle_that_is_killed_while_tables_join_is_made_up_for_by_the_next(
    point: str, databases: Any, tmp_path: Path
) -> None:
    """One table comes by its DDL, one with the rows that it had."""
    ddl = schema(APPLY, include_ddl=True)
    channel = begun(databases, tmp_path, schema(CAPTURE, include_ddl=True), ddl)
    channel.at_source(
        "CREATE TABLE hr.copy AS SELECT * FROM hr.u",
        "CREATE TABLE hr.later (id int PRIMARY KEY)",
        "INSERT INTO hr.later VALUES (1)",
        "INSERT INTO hr.copy VALUES (8, 8)",
    )
    die("replicate", channel.file, point)
    cycle(channel, "INSERT INTO hr.later VALUES (2)", "DELETE FROM hr.copy WHERE id = 1")
    assert same(databases, "hr.copy", "hr.later", "hr.t", "hr.u") and lacking(channel) == []


@pytest.mark.parametrize(
    ("statement", "is_told"),
    [
        ("ADD made timestamptz DEFAULT now()", True),
        ("ADD number int GENERATED BY DEFAULT AS IDENTITY", True),
        ("ADD number serial", True),
        ("ADD token uuid DEFAULT gen_random_uuid()", True),
        ("ALTER k TYPE text USING random()::text", True),
        ("ADD made timestamptz DEFAULT now(), ALTER made SET DEFAULT '2026-01-01'", True),
        ("ADD state text DEFAULT 'new', ADD amount numeric(12,2) DEFAULT 0, ADD open bool DEFAULT true", False),
        ("ADD later int, ALTER later SET DEFAULT random()", False),
        ("ADD twice int GENERATED ALWAYS AS (k * 2) STORED", False),
        ("ALTER k TYPE bigint USING k * 10", False),
        ("ALTER k TYPE text USING k::text", False),
    ],
)
def test_values_that_only_the_source_has_are_told(
    databases: Any, tmp_path: Path, statement: str, is_told: bool
) -> None:
    """The target runs the text: where it gives the rows other values there, the run and the status say so."""
    ddl = {"include_ddl": True}
    channel = begun(databases, tmp_path, schema(CAPTURE, **ddl), schema(APPLY, **ddl))
    done = cycle(channel, f"ALTER TABLE hr.u {statement}")
    assert bool([one for one in done.warnings if "hr.u may have other values in rows from before" in one]) is is_told
    assert lacking(channel) == (["hr.u"] if is_told else [])
    if not is_told:
        assert same(databases, "hr.u")
        return
    run(databases.target, "DROP TABLE hr.u")
    channel.activate(load=True)
    assert same(databases, "hr.u") and lacking(channel) == []


def test_values_that_only_the_source_has_are_told_of_a_new_table(databases: Any, tmp_path: Path) -> None:
    ddl = {"include_ddl": True}
    channel = begun(databases, tmp_path, schema(CAPTURE, **ddl), schema(APPLY, **ddl))
    done = cycle(
        channel,
        "CREATE TABLE hr.later (id int PRIMARY KEY)",
        "INSERT INTO hr.later VALUES (1)",
        "ALTER TABLE hr.later ADD made timestamptz DEFAULT now()",
    )
    assert [one for one in done.warnings if "hr.later may have other values in rows from before" in one]
    assert lacking(channel) == ["hr.later"]


def test_a_change_that_the_log_does_not_have_is_told(
    databases: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Event triggers were off in the session: an inspection finds the new column, and no statement brings it."""
    ddl = {"include_ddl": True}
    channel = begun(databases, tmp_path, schema(CAPTURE, **ddl), schema(APPLY, **ddl))
    with psycopg.connect(databases.source, autocommit=True) as session:
        session.execute("SET event_triggers = off")
        session.execute("ALTER TABLE hr.u ALTER k TYPE bigint")
    with pytest.raises(ApplyError, match=r"APL-138: hr\.u may lack changes"):
        cycle(channel, "INSERT INTO hr.u VALUES (7, 7)", "INSERT INTO hr.t VALUES (7, 7)")
    assert "hr.u may have other columns, and other values in rows from" in caplog.text
    assert {*lacking(channel)} == {"hr.u"} and same(databases, "hr.t")
    run(databases.target, "DROP TABLE hr.u")
    channel.activate(load=True)
    assert same(databases, "hr.u") and lacking(channel) == []
