"""Apply processes run live: what the capture process brings is applied by rules, once, or waits in the error queue."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import ApplyError, RuleError
from airflow_ddlrepl.flow.streams.apply_process.apply import has_lcrs
from airflow_ddlrepl.flow.streams.propagation import propagate
from airflow_ddlrepl.streams.messages import RowLcr
from tests.flow.streams.streams_channel import (
    BATTERY,
    BATTERY_TABLES,
    EVERYTHING,
    StreamsChannel,
    cells,
    streams_channel,
)
from tests.postgres.apply_lcrs.applying import ask
from tests.support.crashing import start
from tests.support.replica import run

CAPTURED = {
    "add_global_rules": {"streams_type": "capture", "streams_name": "cap", "queue_name": "q1", "include_ddl": True}
}
APPLY = {"streams_type": "apply", "streams_name": "apply_hr", "queue_name": "q1", "source_database": "dbs1"}
GOES_ON = {"set_parameter": {"apply_name": "apply_hr", "parameter": "disable_on_error", "value": "N"}}


def rules(level: str, **more: Any) -> dict[str, Any]:
    about = {"table": {"table_name": "hr.t"}, "schema": {"schema_name": "hr"}, "global": {}}[level]
    return {f"add_{level}_rules": {**about, **APPLY, "include_ddl": True, **more}}


def begun(databases: Any, folder: Path, *calls: dict[str, Any], **streams: Any) -> StreamsChannel:
    """Source and target have the battery's tables; schema hr at the target belongs to another role.

    code, run_as: of the target, in `streams`.
    """
    own: dict[str, Any] = {key: streams.pop(key) for key in ("code", "run_as") if key in streams}
    own["trusted_owners"] = ["pg_monitor"]
    target: dict[str, Any] = {"name": "site2", "location": databases.target, "apply": "apply_hr", **own}
    channel = streams_channel(folder, databases.source, CAPTURED, *calls, **{"targets": [target], **streams})
    channel.at_source(*BATTERY_TABLES)
    run(databases.target, *BATTERY_TABLES, "ALTER SCHEMA hr OWNER TO pg_monitor")
    channel.activate()
    return channel


def cycle(channel: StreamsChannel, *statements: str) -> Any:
    channel.at_source(*statements)
    channel.stage(flow.capture)
    return channel.stage(flow.apply)


def applied(target: str) -> set[str]:
    """The changes of the battery that are at the target."""
    marks = {
        "B1": "SELECT 1 FROM hr.t WHERE id = 1",
        "B2": "SELECT 1 FROM hr.t WHERE id = 2",
        "B3": "SELECT 1 FROM hr.u WHERE id = 3",
        "B4": "SELECT 1 FROM pg_attribute WHERE attrelid = 'hr.t'::regclass AND attname = 'added'",
        "B5": "SELECT 1 FROM pg_class WHERE relname = 'u_k'",
        "B6": "SELECT 1 FROM pg_namespace WHERE nspname = 'hr' AND nspowner <> 'pg_monitor'::regrole",
        "B7": "SELECT 1 FROM oe.o WHERE id = 7",
        "B8": "SELECT 1 FROM pg_attribute WHERE attrelid = 'oe.o'::regclass AND attname = 'added'",
    }
    return {name for name, query in marks.items() if ask(target, query)}


SUBSET = pytest.param(
    [{"add_subset_rules": {"table_name": "hr.t", "dml_condition": "k = 1", **APPLY}}],
    {"B1"},
    marks=pytest.mark.req("ST-T-17"),
    id="subset",
)


@pytest.mark.req("ST-R-11")
@pytest.mark.parametrize(("calls", "expected"), [*cells(rules, 16), SUBSET])
def test_each_level_applies_or_discards_its_changes(
    calls: list[dict[str, Any]], expected: set[str], databases: Any, tmp_path: Path
) -> None:
    channel = begun(databases, tmp_path, *calls, code=["owner"])
    found = cycle(channel, *BATTERY.values())
    assert applied(databases.target) == expected
    assert sum(found.changes.values()) == len(expected)
    assert sum(found.discarded.values()) >= len(EVERYTHING - expected)
    assert not channel.stage(flow.has_lcrs)
    assert channel.stage(flow.apply).transactions == 0


def test_rows_of_all_types_and_truncates_arrive_as_they_are(databases: Any, tmp_path: Path) -> None:
    table = (
        "CREATE TABLE hr.v (id bigint PRIMARY KEY, n numeric, f float8, b boolean, d date, z timestamptz, raw bytea,"
        " a int[], j jsonb, i interval, u uuid, r int4range)"
    )
    channel = begun(databases, tmp_path, rules("global"))
    values = (
        "INSERT INTO hr.v VALUES (1, 1.50, 'NaN', true, 'infinity', '2026-01-01 00:00:00.123456+02', '\\x00ff',"
        " '{1,NULL}', '{\"a\": [1]}', '1 mon 2 days', gen_random_uuid(), '[1,5)')",
        "INSERT INTO hr.v (id, n) VALUES (2, 'NaN'), (3, 1e100)",
        "UPDATE hr.v SET id = 20, f = 0.1::float4 WHERE id = 2",
        "DELETE FROM hr.v WHERE id = 3",
    )
    cycle(channel, table, *values)
    query = "SELECT v::text FROM hr.v v ORDER BY id"
    assert ask(databases.target, query) == ask(databases.source, query) != []
    cycle(channel, "TRUNCATE hr.v, hr.t", "INSERT INTO hr.v (id) VALUES (9)", "DROP TABLE hr.u, oe.o")
    assert ask(databases.target, "SELECT id FROM hr.v") == [(9,)]
    assert ask(databases.target, "SELECT to_regclass('hr.u'), to_regclass('oe.o')") == [(None, None)]


def test_a_table_without_a_key_follows_row_by_row(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, rules("global"))
    cycle(
        channel, "CREATE TABLE hr.w (a int, n text)", "INSERT INTO hr.w SELECT i % 2, 'x' FROM generate_series(1, 6) i"
    )
    one = "(SELECT ctid FROM hr.w WHERE a = %s LIMIT 1)"
    cycle(channel, f"UPDATE hr.w SET n = 'y' WHERE ctid = {one % 1}", f"DELETE FROM hr.w WHERE ctid = {one % 0}")
    query = "SELECT a, n FROM hr.w ORDER BY 1, 2"
    assert ask(databases.target, query) == ask(databases.source, query)


@pytest.mark.req("ST-U-26", "ST-U-27")
def test_statements_that_were_sent_together_run_each_by_itself(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, rules("schema"), code=["function", "view", "trigger", "grant"])
    body = "LANGUAGE plpgsql AS $$ BEGIN NEW.note := 'noted'; RETURN NEW; END $$"
    channel.at_source(
        f"CREATE FUNCTION hr.noted() RETURNS trigger {body}; CREATE VIEW hr.v AS SELECT id FROM hr.t;"
        " CREATE TRIGGER noted BEFORE INSERT ON hr.t FOR EACH ROW EXECUTE FUNCTION hr.noted();"
        " COMMENT ON VIEW hr.v IS 'a; b'; GRANT SELECT ON hr.v TO public",
        "INSERT INTO hr.t VALUES (1, 1, 'mine')",
        "DROP VIEW hr.v; DROP TRIGGER noted ON hr.t",
        "INSERT INTO hr.t VALUES (2, 2, 'mine')",
    )
    done = channel.stage(flow.replicate)
    assert done.apply.waiting == {}
    assert ask(databases.target, "SELECT id, note FROM hr.t ORDER BY id") == [(1, "noted"), (2, "mine")]
    found = ask(databases.target, "SELECT to_regproc('hr.noted')::text, to_regclass('hr.v')::text")
    assert found == [("hr.noted", None)]


def test_rows_come_into_a_subset_and_leave_it(databases: Any, tmp_path: Path) -> None:
    subset = {"add_subset_rules": {"table_name": "hr.t", "dml_condition": "k = 50", **APPLY}}
    channel = begun(databases, tmp_path, subset)
    cycle(channel, "INSERT INTO hr.t VALUES (1, 80, 'in'), (2, 50, 'out'), (3, 50, 'stays')")
    found = cycle(channel, "UPDATE hr.t SET k = 50 WHERE id = 1", "UPDATE hr.t SET k = 20 WHERE id = 2")
    assert found.changes == {"insert": 1, "delete": 1}
    assert ask(databases.target, "SELECT id, k, note FROM hr.t ORDER BY 1") == [(1, 50, "in"), (3, 50, "stays")]


@pytest.mark.req("ST-U-40", "ST-U-41")
def test_a_row_that_comes_into_a_subset_is_there_already(databases: Any, tmp_path: Path) -> None:
    subset = {"add_subset_rules": {"table_name": "hr.t", "dml_condition": "k = 50", **APPLY}}
    channel = begun(databases, tmp_path, subset, GOES_ON)
    cycle(channel, "INSERT INTO hr.t VALUES (100, 90, 'moves'), (101, 90, 'moves, too')")
    run(databases.target, "INSERT INTO hr.t VALUES (100, 90, 'a full copy')")
    found = cycle(channel, "UPDATE hr.t SET k = 50 WHERE id = 100", "UPDATE hr.t SET k = 50 WHERE id = 101")
    assert (found.errors, found.waiting) == (1, {"site2": 1})
    assert ask(databases.target, "SELECT id, k FROM hr.t ORDER BY 1") == [(100, 90), (101, 50)]


@pytest.mark.req("ST-X-67")
def test_the_original_goes_on_from_a_queue_whose_apply_transforms(databases: Any, tmp_path: Path) -> None:
    def passing(source: str, to: str) -> dict[str, Any]:
        queues = {"source_queue_name": source, "destination_queue_name": to}
        return {"add_global_propagation_rules": {"streams_name": f"to_{to}", **queues}}

    taken = {**APPLY, "queue_name": "q2", "dml_rule_name": "r"}
    renamed = {"rename_column": {"rule_name": "r", "table_name": "hr.t", "from_column_name": "note",
                                 "to_column_name": "remark"}}  # fmt: skip
    moved = {"rename_table": {"rule_name": "r", "from_table_name": "hr.t", "to_table_name": "pub.t"}}
    calls = (passing("q1", "q2"), passing("q2", "q4"), {"add_table_rules": {"table_name": "hr.t", **taken}}, renamed)
    channel = begun(databases, tmp_path, *calls, moved)
    run(databases.target, "CREATE SCHEMA pub", "CREATE TABLE pub.t (id int PRIMARY KEY, k int, remark text)")
    channel.at_source("INSERT INTO hr.t VALUES (1, 1, 'original')", "UPDATE hr.t SET k = 2")
    channel.stage(flow.capture)
    channel.stage(propagate)
    channel.stage(flow.apply)
    assert ask(databases.target, "SELECT * FROM pub.t") == [(1, 2, "original")]
    assert "'note': 'original'" in channel.content("q4")[0]


def changed(lcr: RowLcr) -> RowLcr:
    assert isinstance(lcr.new["k"], int)
    return replace(lcr, new={**lcr.new, "k": lcr.new["k"] + 1})


def handler(lcr: RowLcr, apply: Any) -> None:
    assert (lcr.new["k"], lcr.new["n"], lcr.new["d"]) == (2, Decimal("1.50"), date(2026, 1, 1))
    apply.execute(replace(lcr, new={**lcr.new, "n": lcr.new["n"] * 2}))
    apply.sql("INSERT INTO hr.u VALUES (%s, %s)", lcr.new["id"], 100)


def test_functions_and_handlers_get_python_values(databases: Any, tmp_path: Path) -> None:
    listed = {"changed": f"{__name__}:changed", "handler": f"{__name__}:handler"}
    calls = (
        rules("schema", dml_rule_name="r"),
        {"set_rule_transform_function": {"rule_name": "r", "transform_function": "changed"}},
        {"set_dml_handler": {"object_name": "hr.v", "operation_name": "INSERT", "user_procedure": "handler"}},
    )
    channel = begun(databases, tmp_path, *calls, functions=listed)
    cycle(
        channel,
        "CREATE TABLE hr.v (id int PRIMARY KEY, k int, n numeric(10, 2), d date)",
        "INSERT INTO hr.v VALUES (1, 1, 1.50, '2026-01-01')",
    )
    assert ask(databases.target, "SELECT id, k, n::text FROM hr.v") == [(1, 2, "3.00")]
    assert ask(databases.target, "SELECT * FROM hr.u") == [(1, 100)]


@pytest.mark.req("ST-X-38")
def test_a_function_that_is_not_listed(databases: Any, tmp_path: Path) -> None:
    calls = ({"create_apply": {"apply_name": "apply_hr", "queue_name": "q1", "ddl_handler": "nothing"}},)
    channel = begun(databases, tmp_path, *calls)
    with pytest.raises(RuleError) as raised:
        cycle(channel, "INSERT INTO hr.t VALUES (1)")
    assert raised.value.code == "RUL-134"
    assert applied(databases.target) == set()


def test_an_error_stops_the_apply_process_until_it_is_retried_or_deleted(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, rules("global"))
    run(databases.target, "INSERT INTO hr.t VALUES (1, 0, 'theirs')")
    with pytest.raises(ApplyError) as raised:
        cycle(channel, "INSERT INTO hr.t VALUES (1, 1, 'ours')", "INSERT INTO hr.t VALUES (2, 2, 'two')")
    assert (raised.value.code, raised.value.target) == ("APL-110", "site2")
    assert channel.stage(flow.has_lcrs)
    with pytest.raises(ApplyError) as raised:
        channel.stage(flow.apply)
    assert raised.value.code == "APL-111"
    with channel.opened() as context:
        [error] = flow.queued_errors(context)
        shown = flow.show_error(context, error["id"])
    assert shown.messages[0]["target"] == [{"id": "1", "k": "0", "note": "theirs"}]
    with pytest.raises(ApplyError) as raised:
        channel.stage(flow.retry_errors)
    assert raised.value.code == "APL-114"
    run(databases.target, "DELETE FROM hr.t")
    assert channel.stage(flow.retry_errors, error["id"]).transactions == (error["id"],)
    channel.stage(flow.apply)
    assert ask(databases.target, "SELECT id, note FROM hr.t ORDER BY 1") == [(1, "ours"), (2, "two")]
    run(databases.target, "DELETE FROM hr.t WHERE id = 1")
    with pytest.raises(ApplyError, match="no data found"):
        cycle(channel, "UPDATE hr.t SET k = 5 WHERE id = 1", "DELETE FROM hr.t WHERE id = 2")
    with channel.opened() as context:
        [error] = flow.queued_errors(context)
    channel.stage(flow.delete_error, error["id"])
    assert channel.stage(flow.apply).changes == {"delete": 1}


def test_a_cycle_and_the_status_say_what_was_applied_and_what_waits(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, rules("global"), GOES_ON)
    run(databases.target, "INSERT INTO hr.t VALUES (1, 0, 'theirs')")
    channel.at_source("INSERT INTO hr.t VALUES (1, 1, 'ours')", "INSERT INTO hr.t VALUES (2, 2, 'two')")
    text = channel.stage(flow.replicate).text()
    assert "applied 1 transactions: 1 insert" in text
    assert "warning: target site2: 1 transactions wait in the error queue" in text
    found = channel.stage(flow.status)
    [state] = found.to_json()["apply"]
    assert (state["client"], state["waiting"], state["is_disabled"]) == ("apply_hr", 1, False)
    assert state["positions"]["capture"] == str(found.captured)
    assert "target site2, written by apply process apply_hr: capture at" in found.text()
    channel.at_source("INSERT INTO hr.t VALUES (3, 3, 'three')")
    channel.stage(flow.capture)
    assert channel.stage(has_lcrs)
    assert channel.stage(flow.apply_queues).changes == {"insert": 1}
    assert not channel.stage(has_lcrs)
    run(databases.target, "INSERT INTO hr.t VALUES (4, 0, 'theirs')")
    channel.at_source("INSERT INTO hr.t VALUES (4, 4, 'ours')")
    channel.stage(flow.capture)
    assert channel.stage(flow.apply).errors == 1
    assert not channel.stage(has_lcrs), "the last transaction is refused: nothing is left behind it"


@pytest.mark.parametrize("point", ["apply.transaction", "apply.altered", "apply.committed", "apply.error_stored"])
def test_a_killed_run_applies_nothing_twice(databases: Any, tmp_path: Path, point: str) -> None:
    channel = begun(databases, tmp_path, rules("global"), GOES_ON)
    run(databases.target, "INSERT INTO hr.u VALUES (1, 1)")
    channel.at_source(
        "CREATE TABLE hr.w (a int)",
        "INSERT INTO hr.w VALUES (1), (1)",
        "INSERT INTO hr.u VALUES (1, 1)",
        "UPDATE hr.w SET a = a + 1",
    )
    channel.stage(flow.capture)
    process = start("apply", channel.file, point)
    process.join()
    assert process.exitcode == -9
    channel.stage(flow.apply)
    assert ask(databases.target, "SELECT * FROM hr.w") == [(2,), (2,)]
    with channel.opened() as context:
        assert len(flow.queued_errors(context)) == 1


def test_the_status_of_a_stopped_apply_process_says_why_once_and_what_to_type(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, rules("global"))
    run(databases.target, "INSERT INTO hr.t VALUES (1, 0, 'theirs')")
    with pytest.raises(ApplyError, match="APL-110"):
        cycle(channel, "INSERT INTO hr.t VALUES (1, 1, 'ours')")
    text = channel.stage(flow.status).text()
    assert text.count("apply client apply_hr is disabled: transaction 1 of its error queue failed: ") == 1
    assert "APL-110, see above\n  hint: `ddlrepl errors show CHANNEL.yaml 1` shows it" in text
    assert "  transactions that wait in its error queue: 1 (`ddlrepl errors list`)" in text
    with channel.opened() as context:
        [error] = flow.queued_errors(context)
    assert error["message"].startswith("a transaction of 1 message waits: ")
    assert "`ddlrepl errors show CHANNEL.yaml site2/1`" in error["hint"]
