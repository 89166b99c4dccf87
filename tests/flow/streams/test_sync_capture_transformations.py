"""A synchronous capture transforms row LCRs in the transaction that makes the change; what fails ends the statement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.flow.streams.propagation import propagate
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.streams.messages import RowLcr
from airflow_ddlrepl.streams.rules.decide import decide
from tests.conftest import Databases
from tests.flow.streams.sync_capturing import Call, Capturing, client, rule, subset

ROW = "INSERT INTO hr.t VALUES (1, 'a', '123-45', 5)"


@pytest.fixture
def captures(databases: Databases, tmp_path: Path) -> Capturing:
    found = Capturing(databases.source, tmp_path, [rule()])
    found.at_source(
        "CREATE SCHEMA hr; CREATE SCHEMA etl",
        "CREATE TABLE hr.t (k int PRIMARY KEY, v text, ssn text, n numeric)",
    )
    return found


def declared(procedure: str, table: str = "hr.t", name: str = "r", **parameters: Any) -> Call:
    return {procedure: {"rule_name": name, "table_name": table, **parameters}}


def custom(function: str | None, name: str = "r", **parameters: Any) -> Call:
    return {"set_rule_transform_function": {"rule_name": name, "transform_function": function, **parameters}}


FUNCTION = """
CREATE FUNCTION etl.{name}(lcr jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
    {body}
END
$$
"""


def test_declared_transformations_are_done_in_their_order(captures: Capturing) -> None:
    captures.capture(
        rule(),
        {"rename_schema": {"rule_name": "r", "from_schema_name": "etl", "to_schema_name": "dw"}},
        {"rename_table": {"rule_name": "r", "from_table_name": "hr.t", "to_table_name": "etl.staff"}},
        declared("add_column", column_name="site", column_value="A'\\b"),
        declared("add_column", column_name="one", column_value=1.5),
        declared("add_column", column_name="none"),
        declared("rename_column", from_column_name="v", to_column_name="w"),
        declared("delete_column", column_name="ssn"),
        declared("keep_columns", column_list="k,v,ssn,nowhere"),
        declared("rename_column", from_column_name="k", to_column_name="id", step_number=1),
    )
    captures.at_source(ROW, "UPDATE hr.t SET v = NULL", "DELETE FROM hr.t")
    captures.capture()
    added = {"site": "A'\\b", "one": "1.5", "none": None}
    # The column k of the first step is k again in the second: that is about hr.t, and the LCR is of dw.staff by then.
    assert {(one.owner, one.name) for one in captures.lcrs()} == {("dw", "staff")}
    assert captures.seen() == [
        ("INSERT", {}, {"k": "1", "w": "a", **added}),
        ("UPDATE", {"k": "1", "w": "a"}, {"k": "1", "w": None, **added}),
        ("DELETE", {"k": "1", "w": None}, {}),
    ]
    (file, *_) = captures.trail.segments(0)[0].files()
    assert file.shape is not None
    assert [(one.name, one.type.name) for one in file.shape.columns] == [
        ("k", "int4"),
        ("w", "text"),
        *(("none", "text"), ("one", "numeric"), ("site", "text")),
    ]
    assert file.shape.key is not None
    assert [one.is_key for one in file.columns] == [True, False, False, False, False]


@pytest.mark.req("ST-X-52")
def test_only_what_its_rule_is_true_for_is_transformed(captures: Capturing) -> None:
    condition = ":lcr.get_value('NEW','\"n\"').AccessNumber() > 3"
    captures.capture(
        rule(name="r", and_condition=condition), rule(name="plain"), declared("delete_column", column_name="ssn")
    )
    captures.at_source(ROW, "INSERT INTO hr.t VALUES (2, 'b', '678', 1)")
    captures.capture()
    assert [sorted(one.new) for one in captures.lcrs()] == [["k", "n", "v"], ["k", "n", "ssn", "v"]]


@pytest.mark.req("ST-X-53")
def test_declared_changes_are_internal_and_a_custom_function_comes_by_the_action_context(captures: Capturing) -> None:
    captures.at_source(
        FUNCTION.format(name="mask", body="RETURN jsonb_set(lcr, '{new,v}', to_jsonb(upper(lcr #>> '{new,v}')));")
    )
    captures.functions = {"hr.mask": "sql:etl.mask"}
    captures.capture(rule(), declared("delete_column", column_name="ssn"), custom("hr.mask"))
    captures.at_source(ROW)
    captures.capture()
    assert captures.seen() == [("INSERT", {}, {"k": "1", "v": "A", "n": "5"})]
    of = client(*captures.calls)
    assert of.positive is not None
    (made,) = of.positive.rules.values()
    assert made.action.pairs == {"STREAMS$_TRANSFORM_FUNCTION": "hr.mask"}
    of = client(*captures.calls[:2])
    assert of.positive is not None
    assert [one.action.pairs for one in of.positive.rules.values()] == [{}]


@pytest.mark.req("ST-X-54")
def test_the_steps_are_format_then_migrate_and_transform_then_the_function_then_enqueue(captures: Capturing) -> None:
    """The function's argument shows what was done before it, and what is queued what it did."""
    captures.at_source(
        "CREATE TABLE etl.calls (lcr jsonb)",
        FUNCTION.format(name="seen", body='INSERT INTO etl.calls VALUES (lcr); RETURN lcr || \'{"name": "last"}\';'),
        "INSERT INTO hr.t VALUES (1, 'out', '1', 5)",
    )
    captures.functions = {"etl.seen": "sql:etl.seen"}
    captures.capture(
        subset("v = 'in'"), declared("delete_column", column_name="ssn", name="i"), custom("etl.seen", "i")
    )
    captures.at_source("UPDATE hr.t SET v = 'in'", "ALTER TABLE hr.t ADD w int")
    ((given,),) = captures.rows("SELECT lcr FROM etl.calls")
    assert (given["command"], given["new"], given["old"]) == ("INSERT", {"k": "1", "v": "in", "n": "5"}, {})
    assert (given["owner"], given["name"], given["tag"]) == ("hr", "t", None)
    captures.capture()
    (lcr,) = captures.lcrs()
    assert isinstance(lcr, RowLcr)
    assert (lcr.name, lcr.command.value, lcr.new) == ("last", "INSERT", {"k": "1", "v": "in", "n": "5"})
    assert captures.events() == []


@pytest.mark.req("ST-X-55")
def test_everything_is_done_as_the_user_of_the_capture(captures: Capturing, databases: Databases) -> None:
    writer = f"writer_{captures.source[-8:]}"
    body = "RETURN jsonb_set(lcr, '{new,v}', to_jsonb(current_user || ' ' || session_user));"
    captures.at_source(
        FUNCTION.format(name="who", body=body),
        f"CREATE ROLE {writer} LOGIN PASSWORD 'x'",
        f"GRANT USAGE ON SCHEMA hr TO {writer}",
        f"GRANT INSERT ON hr.t TO {writer}",
    )
    captures.functions = {"etl.who": "sql:etl.who"}
    captures.capture(rule(), declared("delete_column", column_name="ssn"), custom("etl.who"))
    try:
        with psycopg.connect(captures.source, user=writer, password="x", autocommit=True) as connection:
            connection.execute(ROW)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("SELECT * FROM ddlrepl.captured_lcrs")
    finally:
        captures.at_source(f"DROP OWNED BY {writer}", f"DROP ROLE {writer}")
    ((stored,),) = captures.rows("SELECT new_values FROM ddlrepl.captured_lcrs")
    assert stored == {"k": "1", "v": f"postgres {writer}", "n": "5"}
    to = {"source_queue_name": "streams_queue", "source_database": captures.source.rpartition("/")[2]}
    for queue in ("q2", "q3"):
        names = {"destination_queue_name": queue, "streams_name": f"to_{queue}", "dml_rule_name": queue}
        captures.calls = [*captures.calls, {"add_table_propagation_rules": {"table_name": "hr.t", **to, **names}}]
    captures.capture()
    with captures.clients() as clients:
        propagate(clients.run)
        for queue in ("streams_queue", "q2", "q3"):
            (feed,) = clients.feeds(queue)
            (file,) = [file for segment in feed.trail.segments(feed.epoch) for file in segment.files()]
            (row,) = feed.trail.rows(file, file.first, LogKey(file.last.lsn + 1, 0)).to_pylist()
            values = {name: value for name, value in row.items() if name.startswith(("a_", "b_")) and value}
            assert values == {"a_k": "1", "a_v": f"postgres {writer}", "a_n": "5"}
            assert "ssn" not in {column.name for column in file.columns}


@pytest.mark.req("ST-Y-05")
def test_a_transformation_that_finds_nothing_to_do_is_passed_over(captures: Capturing) -> None:
    captures.capture(
        rule(),
        declared("delete_column", column_name="nowhere"),
        declared("rename_column", from_column_name="missing", to_column_name="k"),
    )
    captures.at_source(ROW)
    captures.capture()
    assert [one.new for one in captures.lcrs()] == [{"k": "1", "v": "a", "ssn": "123-45", "n": "5"}]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (declared("add_column", column_name="v", column_value="x"), "add_column: the row LCR of hr.t has a column v"),
        (
            declared("rename_column", from_column_name="v", to_column_name="n"),
            "rename_column: the row LCR of hr.t has a column n",
        ),
    ],
    ids=["add", "rename"],
)
@pytest.mark.req("ST-Y-06", "ST-Y-08")
def test_a_clash_ends_the_statement_until_the_transformation_is_removed(
    captures: Capturing, change: Call, code: str
) -> None:
    captures.capture(rule(), change)
    with pytest.raises(psycopg.DatabaseError, match=f"RUL-122: {code}"):
        captures.at_source(ROW)
    assert captures.rows("SELECT count(*) FROM hr.t") == [(0,)]
    assert captures.capture().rows == {"sync": 0}
    ((procedure, parameters),) = change.items()
    captures.capture(*captures.calls, {procedure: {**parameters, "operation": "REMOVE"}})
    captures.at_source(ROW)
    assert captures.capture().rows == {"sync": 1}
    assert captures.rows("SELECT count(*) FROM hr.t") == [(1,)]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("RAISE EXCEPTION 'not today';", "not today"),
        ("RETURN to_jsonb(1 / (length(lcr ->> 'name') - 1));", "division by zero"),
        ("RETURN lcr - 'command';", "RUL-154"),
        ("RETURN '[]';", "RUL-154"),
        ("RETURN to_jsonb('text'::text);", "RUL-154"),
    ],
)
@pytest.mark.req("ST-Y-07", "ST-Y-08")
def test_any_error_of_a_custom_function_ends_the_statement(captures: Capturing, body: str, message: str) -> None:
    captures.at_source(FUNCTION.format(name="bad", body=body))
    captures.functions = {"etl.bad": "sql:etl.bad"}
    captures.capture(rule(), custom("etl.bad"))
    with pytest.raises(psycopg.DatabaseError, match=message):
        captures.at_source(ROW)
    assert captures.rows("SELECT count(*) FROM hr.t") == [(0,)]
    assert captures.capture().rows == {"sync": 0}
    captures.capture(*captures.calls, custom(None))
    captures.at_source(ROW)
    assert captures.capture().rows == {"sync": 1}


def test_a_function_gives_none_or_several_lcrs_for_one(captures: Capturing) -> None:
    body = """RETURN CASE lcr #>> '{new,k}' WHEN '1' THEN '[]' WHEN '2' THEN NULL ELSE jsonb_build_array(lcr,
        lcr || '{"name": "copy", "new": {"n": 1.50, "b": true, "t": "true", "z": null, "k": "3"}}') END;"""
    captures.at_source(FUNCTION.format(name="many", body=body))
    captures.functions = {"etl.many": "sql:etl.many"}
    captures.capture(rule(), custom("etl.many", is_array=True))
    captures.at_source("INSERT INTO hr.t VALUES (1), (2), (3)")
    captures.capture()
    assert [(one.name, one.new) for one in captures.lcrs()] == [
        ("t", {"k": "3", "v": None, "ssn": None, "n": None}),
        ("copy", {"k": "3", "n": "1.50", "b": "t", "t": "true", "z": None}),
    ]


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ({}, "not listed"),
        ({"etl.mask": "package.module:mask"}, "package.module:mask"),
        ({"etl.mask": "sql:etl.nowhere"}, "the source has no function"),
    ],
)
def test_a_function_that_the_source_can_t_call_is_refused_before_anything_is_made(
    captures: Capturing, functions: dict[str, str], message: str
) -> None:
    captures.functions = functions
    with pytest.raises(RuleError, match=message) as refused:
        captures.capture(rule(), custom("etl.mask"))
    assert refused.value.code == "RUL-152"
    assert captures.rows("SELECT to_regnamespace('ddlrepl') IS NULL") == [(True,)]


def test_the_first_rule_with_an_action_counts(captures: Capturing) -> None:
    captures.capture(
        rule(name="plain"),
        rule(name="first"),
        rule(name="second"),
        declared("delete_column", name="second", column_name="v"),
        declared("delete_column", name="first", column_name="ssn"),
    )
    captures.at_source(ROW)
    captures.capture()
    assert captures.seen() == [("INSERT", {}, {"k": "1", "v": "a", "n": "5"})]
    verdict = decide(client(*captures.calls), RowLcr("hr", "t", new={"k": 1}))
    assert verdict.rule is not None
    assert verdict.rule.name == "first"
