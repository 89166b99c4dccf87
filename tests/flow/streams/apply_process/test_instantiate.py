"""Tables of an apply process are at its target, with their rows, before the first change of them is applied."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import ApplyError, ConfigError
from airflow_ddlrepl.flow.streams.sync_capture import sync_capture
from airflow_ddlrepl.model.names import TableName
from tests.flow.streams.streams_channel import APPLY, StreamsChannel, streams_channel
from tests.postgres.apply_lcrs.applying import ask
from tests.support.replica import BOTH, run

ALL = {"add_global_rules": {"streams_type": "capture", "streams_name": "cap", "queue_name": "q1", "include_ddl": True}}
RULES = {"add_schema_rules": {"schema_name": "hr", **APPLY, "include_ddl": True}}
TABLES = (
    "CREATE SCHEMA hr; CREATE SCHEMA oe",
    "CREATE TABLE hr.t (id int PRIMARY KEY, k int, note text)",
    "INSERT INTO hr.t VALUES (1, 1, 'one'), (2, 2, NULL), (3, 1, '')",
    "CREATE TABLE oe.o (id int PRIMARY KEY)",
)
HR_T = "SELECT * FROM hr.t ORDER BY 1"


def begun(
    folder: Path, databases: Any, *calls: dict[str, Any], at_source: tuple[str, ...] = TABLES, **streams: Any
) -> StreamsChannel:
    """A channel whose apply process writes to the target."""
    targets = [{"name": "site2", "location": databases.target, "apply": "app"}]
    channel = streams_channel(folder, databases.source, ALL, *calls, targets=targets, **streams)
    channel.at_source(*at_source)
    channel.activate()
    return channel


def loaded(channel: StreamsChannel, *arguments: Any) -> Any:
    return channel.stage(flow.instantiate, "site2", *arguments)


def cycle(channel: StreamsChannel, *statements: str) -> Any:
    channel.at_source(*statements)
    channel.stage(flow.capture)
    return channel.stage(flow.apply)


def propagation(level: str, **more: Any) -> dict[str, Any]:
    about = {"table": {"table_name": "hr.t"}, "schema": {"schema_name": "hr"}, "global": {}}[level]
    queues = {"streams_name": "prop", "source_queue_name": "q1", "destination_queue_name": "q2"}
    return {f"add_{level}_propagation_rules": {**about, **queues, **more}}


@BOTH
def test_a_table_comes_with_its_rows_and_then_its_changes(databases: Any, tmp_path: Path) -> None:
    channel = begun(tmp_path, databases, RULES)
    channel.at_source("INSERT INTO hr.t VALUES (4, 4, 'before')")
    result = loaded(channel)
    assert (result.rows, result.existing, result.discarded) == ({"hr.t": 4}, {}, {})
    assert ask(databases.target, HR_T)[1:3] == [(2, 2, None), (3, 1, "")]
    changes = cycle(channel, "UPDATE hr.t SET note = 'after' WHERE id = 4", "INSERT INTO hr.t VALUES (5)").changes
    assert changes == {"update": 1, "insert": 1}
    assert ask(databases.target, HR_T) == ask(databases.source, HR_T)
    assert loaded(channel).rows == {}


def test_a_table_that_is_there_keeps_its_rows_and_gets_all_changes_since_the_capture_began(
    databases: Any, tmp_path: Path
) -> None:
    channel = begun(tmp_path, databases, RULES)
    run(databases.target, *TABLES[:2], "INSERT INTO hr.t VALUES (1, 1, 'own'), (2, 2, NULL)")
    channel.at_source("UPDATE hr.t SET k = 17 WHERE id = 1")
    result = loaded(channel)
    assert (result.rows, result.existing) == (
        {},
        {"hr.t": "its rows stay as they are; nobody compares them with the source's"},
    )
    with channel.opened() as context:
        assert result.positions == {"hr.t": context.captured()}
    assert cycle(channel).changes == {"update": 1}
    assert ask(databases.target, HR_T) == [(1, 17, "one"), (2, 2, None)]
    assert loaded(channel).existing == {}


def test_a_table_that_is_there_goes_on_behind_the_position_that_a_person_gives(databases: Any, tmp_path: Path) -> None:
    channel = begun(tmp_path, databases, RULES)
    channel.at_source("INSERT INTO hr.t VALUES (4)")
    run(databases.target, *TABLES[:3], "INSERT INTO hr.t VALUES (4)")
    (at,) = ask(databases.source, "SELECT pg_current_wal_lsn()::text")[0]
    given = {"source_object_name": "hr.t", "source_database_name": "dbs1", "instantiation_scn": at}
    channel.change(calls=[ALL, RULES, {"set_table_instantiation_scn": given}])
    assert str(loaded(channel).positions["hr.t"]) > at
    assert cycle(channel, "INSERT INTO hr.t VALUES (5)").changes == {"insert": 1}
    run(databases.target, "DROP TABLE hr.t; DROP TABLE ddlrepl.instantiations")
    given["instantiation_scn"] = "F/0"
    channel.change(calls=[ALL, RULES, {"set_table_instantiation_scn": given}])
    with pytest.raises(ApplyError) as error:
        loaded(channel)
    assert error.value.code == "APL-136" and ask(databases.target, "SELECT to_regclass('hr.t')") == [(None,)]


def test_rows_take_the_way_of_the_changes(databases: Any, tmp_path: Path) -> None:
    """Over a propagation with a subset; table, schema and a column are renamed, one is deleted, one is added."""
    queues = {"streams_name": "prop", "source_queue_name": "q1", "destination_queue_name": "q2"}
    subset = {"add_subset_propagation_rules": {"table_name": "hr.t", "dml_condition": "k = 1", **queues}}
    apply = {**APPLY, "queue_name": "q2", "dml_rule_name": "to_pub"}
    of = {"rule_name": "to_pub", "table_name": "hr.t"}
    channel = begun(
        tmp_path,
        databases,
        subset,
        {"add_global_rules": {**apply, "include_ddl": False}},
        {"rename_column": {**of, "from_column_name": "id", "to_column_name": "number"}},
        {"delete_column": {**of, "column_name": "k"}},
        {"add_column": {**of, "column_name": "site", "column_value": "east", "value_type": "NEW"}},
        {"rename_table": {"rule_name": "to_pub", "from_table_name": "hr.t", "to_table_name": "pub.people"}},
    )
    result = loaded(channel)
    assert result.rows == {"pub.people": 2}
    assert result.discarded == {"hr.t: propagation prop": 1}
    assert list(result.positions) == ["hr.t"]
    channel.at_source("UPDATE hr.t SET k = 1 WHERE id = 2", "DELETE FROM hr.t WHERE id = 1")
    channel.stage(flow.capture)
    channel.stage(flow.propagate)
    channel.stage(flow.apply)
    assert ask(databases.target, "SELECT number, note, site FROM pub.people ORDER BY 1") == [
        (2, None, "east"),
        (3, "", "east"),
    ]
    key = "SELECT conname FROM pg_constraint WHERE conrelid = 'pub.people'::regclass AND contype = 'p'"
    assert ask(databases.target, key) == [("people_pkey",)]


def of_function(name: str, *, is_array: bool = True) -> tuple[Any, ...]:
    """The capture process calls a function for rows of hr.t."""
    capture = {"streams_type": "capture", "streams_name": "cap", "queue_name": "q1", "dml_rule_name": "each"}
    function = {"rule_name": "each", "transform_function": f"hr.{name}", "is_array": is_array}
    return {"add_table_rules": {"table_name": "hr.t", **capture}}, {"set_rule_transform_function": function}


def test_functions_change_rows_and_send_them_elsewhere(databases: Any, tmp_path: Path) -> None:
    listed = {"hr.by_key": "tests.flow.streams.functions:by_key"}
    tables = (*TABLES, "CREATE TABLE hr.empty (id int PRIMARY KEY)")
    channel = begun(tmp_path, databases, *of_function("by_key"), RULES, at_source=tables, functions=listed)
    result = loaded(channel)
    assert result.rows == {"hr.t": 3, "hr.odd": 2, "hr.empty": 0}
    assert sorted(result.positions) == ["hr.empty", "hr.odd", "hr.t"]
    assert cycle(channel, "INSERT INTO hr.t VALUES (5)").changes == {"insert": 2}
    assert ask(databases.target, "SELECT id FROM hr.odd ORDER BY 1") == [(1,), (3,), (5,)]


def test_a_function_without_rows_leaves_the_name_of_the_table(databases: Any, tmp_path: Path) -> None:
    listed = {"hr.f": "tests.flow.streams.functions:double"}
    channel = begun(tmp_path, databases, *of_function("f", is_array=False), RULES, functions=listed)
    channel.at_source("TRUNCATE hr.t")
    assert loaded(channel).rows == {"hr.t": 0}
    assert cycle(channel, "INSERT INTO hr.t VALUES (5, 5)").changes == {"insert": 1}
    assert ask(databases.target, HR_T) == [(5, 10, None)]


def test_a_function_that_makes_updates_of_rows_is_refused(databases: Any, tmp_path: Path) -> None:
    listed = {"hr.f": "tests.flow.streams.functions:as_update"}
    channel = begun(tmp_path, databases, *of_function("f", is_array=False), RULES, functions=listed)
    with pytest.raises(ApplyError) as error:
        loaded(channel)
    assert error.value.code == "APL-135"


def test_a_table_of_which_a_part_is_there_is_refused(databases: Any, tmp_path: Path) -> None:
    listed = {"hr.by_key": "tests.flow.streams.functions:by_key"}
    renamed = {"rename_table": {"rule_name": "r", "from_table_name": "hr.t", "to_table_name": "hr.one"}}
    subset = {"and_condition": ":lcr.get_value('NEW','\"k\"').AccessNumber() = 1", "dml_rule_name": "r"}
    first = {"add_table_rules": {"table_name": "hr.t", **APPLY, **subset}}
    channel = begun(tmp_path, databases, first, renamed, RULES, functions=listed)
    run(databases.target, "CREATE SCHEMA hr", "CREATE TABLE hr.one (id int)")
    with pytest.raises(ApplyError) as error:
        loaded(channel)
    assert error.value.code == "APL-134"
    run(databases.target, "DROP TABLE hr.one")
    assert loaded(channel).rows == {"hr.one": 2, "hr.t": 1}


def test_rows_of_two_tables_come_together_unless_their_keys_collide(databases: Any, tmp_path: Path) -> None:
    tables = (*TABLES, "CREATE TABLE hr.u (id int PRIMARY KEY, k bigint)", "INSERT INTO hr.u VALUES (9, 5)")
    both = [{"add_table_rules": {"table_name": f"hr.{name}", **APPLY, "dml_rule_name": f"r_{name}"}} for name in "tu"]
    renames = [
        {"rename_table": {"rule_name": f"r_{n}", "from_table_name": f"hr.{n}", "to_table_name": "hr.both"}}
        for n in "tu"
    ]
    channel = begun(tmp_path, databases, *both, *renames, at_source=tables)
    with pytest.raises(ApplyError) as error:
        loaded(channel)
    assert error.value.code == "APL-133"
    channel.at_source("ALTER TABLE hr.u ALTER k TYPE int", "UPDATE hr.u SET id = 2")
    channel.stage(flow.capture)
    with pytest.raises(ApplyError) as error:
        loaded(channel)
    assert error.value.code == "APL-131" and "(id)=(2)" in error.value.message
    assert "hr.t (cap - app) and hr.u (cap - app)" in error.value.message
    channel.at_source("UPDATE hr.u SET id = 9")
    assert loaded(channel).rows == {"hr.both": 4}
    query = "SELECT id, k, note FROM hr.both ORDER BY 1"
    assert ask(databases.target, query)[2:] == [(3, 1, ""), (9, 5, None)]
    assert cycle(channel, "INSERT INTO hr.u VALUES (10)", "DELETE FROM hr.t WHERE id = 1").changes == {
        "insert": 1,
        "delete": 1,
    }
    assert [number for number, *_ in ask(databases.target, query)] == [2, 3, 9, 10]


def test_rows_that_come_over_two_routes_are_refused_where_they_collide(databases: Any, tmp_path: Path) -> None:
    queues = {"streams_name": "again", "source_queue_name": "q1", "destination_queue_name": "q2"}
    ways = [propagation("table"), {"add_table_propagation_rules": {"table_name": "hr.t", **queues}}]
    channel = begun(tmp_path, databases, *ways, {"add_global_rules": {**APPLY, "queue_name": "q2"}})
    with pytest.raises(ApplyError) as error:
        loaded(channel)
    assert error.value.code == "APL-131" and "cap - again - app" in error.value.message


def test_a_table_that_joins_later_is_loaded_then(databases: Any, tmp_path: Path) -> None:
    channel = begun(tmp_path, databases, {"add_schema_rules": {"schema_name": "hr", **APPLY}})
    loaded(channel)
    cycle(channel, "CREATE TABLE hr.later (id int PRIMARY KEY)")
    channel.at_source("INSERT INTO hr.later VALUES (1)")
    assert loaded(channel, {TableName("hr", "t")}).rows == {}
    assert loaded(channel).rows == {"hr.later": 1}
    assert cycle(channel, "INSERT INTO hr.later VALUES (2)").changes == {"insert": 1}
    assert ask(databases.target, "SELECT id FROM hr.later ORDER BY 1") == [(1,), (2,)]


def test_changes_of_a_table_that_was_renamed_since_are_in_its_rows(databases: Any, tmp_path: Path) -> None:
    channel = begun(tmp_path, databases, RULES)
    channel.at_source("INSERT INTO hr.t VALUES (4)", "ALTER TABLE hr.t RENAME TO s", "INSERT INTO hr.s VALUES (5)")
    assert loaded(channel).rows == {"hr.s": 5}
    assert cycle(channel, "DELETE FROM hr.s WHERE id = 1", "ALTER TABLE hr.s RENAME k TO l").changes == {
        "delete": 1,
        "ddl": 1,
    }
    assert ask(databases.target, "TABLE hr.s ORDER BY 1") == ask(databases.source, "TABLE hr.s ORDER BY 1")


def test_changes_under_an_earlier_name_in_the_log_are_in_its_rows(databases: Any, tmp_path: Path) -> None:
    channel = begun(tmp_path, databases, RULES)
    channel.at_source("INSERT INTO hr.t VALUES (4)", "ALTER TABLE hr.t RENAME TO s", "INSERT INTO hr.s VALUES (5)")
    channel.stage(flow.capture)
    assert loaded(channel).rows == {"hr.s": 5}
    assert cycle(channel, "UPDATE hr.s SET k = 9").changes == {"update": 5}


def test_a_later_table_does_not_come_under_the_name_of_another_one(databases: Any, tmp_path: Path) -> None:
    queues = {"streams_name": "prop", "source_queue_name": "q1", "destination_queue_name": "q2"}
    passed = [
        {"add_table_propagation_rules": {"table_name": f"hr.{n}", **queues, "dml_rule_name": f"r_{n}"}} for n in "tu"
    ]
    rename = {"rename_table": {"rule_name": "r_u", "from_table_name": "hr.u", "to_table_name": "hr.t"}}
    channel = begun(tmp_path, databases, *passed, rename, {"add_global_rules": {**APPLY, "queue_name": "q2"}})
    loaded(channel)
    channel.at_source("CREATE TABLE hr.u (id int PRIMARY KEY, k int, note text)")
    channel.stage(flow.capture)
    with pytest.raises(ApplyError) as error:
        loaded(channel)
    assert error.value.code == "APL-132"


def test_an_unknown_target_is_told(databases: Any, tmp_path: Path) -> None:
    channel = begun(tmp_path, databases, RULES)
    with pytest.raises(ConfigError) as error:
        channel.stage(flow.instantiate, "site3")
    assert error.value.code == "CFG-193"


def test_what_the_target_refuses_is_told_and_nothing_is_left(databases: Any, tmp_path: Path) -> None:
    channel = begun(tmp_path, databases, RULES)
    run(databases.target, "CREATE SCHEMA hr; CREATE VIEW hr.t AS SELECT 1 AS id")
    with pytest.raises(ApplyError) as error:
        loaded(channel)
    assert error.value.code == "APL-130"
    with psycopg.connect(databases.target) as connection:
        assert connection.execute("SELECT count(*) FROM ddlrepl.instantiations").fetchone() == (0,)


def test_changes_that_triggers_capture_follow_the_rows(databases: Any, tmp_path: Path) -> None:
    """A synchronous capture knows no position: its changes are told from the rows by their transactions."""
    sync = {"streams_type": "sync_capture", "streams_name": "sync", "queue_name": "q3", "table_name": "hr.t"}
    rules = {"add_table_rules": {**APPLY, "queue_name": "q3", "table_name": "hr.t"}}
    channel = begun(tmp_path, databases, {"add_table_rules": sync}, rules)
    channel.stage(sync_capture)
    channel.at_source("INSERT INTO hr.t VALUES (4, 4, 'before')")
    with psycopg.connect(databases.source) as other:
        assert loaded(channel).rows == {"hr.t": 4}
        other.execute("UPDATE hr.t SET k = k + 10 WHERE id = 4")
    channel.stage(sync_capture)
    assert channel.stage(flow.apply).changes == {"update": 1}
    assert ask(databases.target, HR_T) == ask(databases.source, HR_T)


def test_a_function_of_the_source_cannot_be_called_for_a_load(databases: Any, tmp_path: Path) -> None:
    sync = {"streams_type": "sync_capture", "streams_name": "sync", "queue_name": "q3", "table_name": "hr.t"}
    function = {"rule_name": "r", "transform_function": "hr.f"}
    calls = (
        {"add_table_rules": {**sync, "dml_rule_name": "r"}},
        {"set_rule_transform_function": function},
        {"add_table_rules": {**APPLY, "queue_name": "q3", "table_name": "hr.t"}},
    )
    body = "CREATE FUNCTION hr.f(lcr jsonb) RETURNS jsonb LANGUAGE sql AS 'SELECT lcr'"
    channel = begun(tmp_path, databases, *calls, at_source=(*TABLES, body), functions={"hr.f": "sql:hr.f"})
    with pytest.raises(ApplyError) as error:
        loaded(channel)
    assert error.value.code == "APL-137"
    run(databases.target, *TABLES[:2])
    assert list(loaded(channel).existing) == ["hr.t"]
    channel.at_source("INSERT INTO hr.t VALUES (4)")
    channel.stage(sync_capture)
    assert channel.stage(flow.apply).changes == {"insert": 1}


def test_an_apply_process_of_another_database_needs_nothing(databases: Any, tmp_path: Path) -> None:
    created = {"create_apply": {"apply_name": "app", "queue_name": "q1", "source_database": "dbs2"}}
    channel = begun(tmp_path, databases, created)
    assert loaded(channel).rows == {}
