"""Rules that DBMS_STREAMS_ADM makes: their conditions' texts, and what they take."""

from __future__ import annotations

import pytest

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.messages import Message
from airflow_ddlrepl.streams.parsing.parser import parse
from airflow_ddlrepl.streams.procedures.environment import Environment
from tests.streams.making import DBS1, client, ddl, made, row, taken

SOURCE = "dbs1.example.com"
APPLY = {"streams_type": "apply", "streams_name": "apply", "queue_name": "streams_queue", "source_database": SOURCE}
PROPAGATION = {
    "streams_name": "dbs1_to_dbs2",
    "source_queue_name": "streams_queue",
    "destination_queue_name": "streams_queue@dbs2.example.com",
}
CAPTURE = {"streams_type": "capture", "streams_name": "capture", "queue_name": "streams_queue"}


def texts(environment: Environment) -> list[str]:
    return [rule.text for rule in environment.rules.values()]


def check_parsed(environment: Environment) -> None:
    """What a rule evaluates is what its text says."""
    for rule in environment.rules.values():
        assert rule.condition == parse(rule.text)


@pytest.mark.req("ST-S-52", "ST-S-54", "ST-S-55")
def test_global_rules_of_a_capture() -> None:
    found = made({"add_global_rules": {**CAPTURE, "include_ddl": True}})
    assert texts(found) == ["(:dml.is_null_tag() = 'Y' )", "(:ddl.is_null_tag() = 'Y' )"]
    positive = client(found, "capture", "capture").positive
    assert positive is not None and len(positive.rules) == 2
    check_parsed(found)


@pytest.mark.req("ST-S-61", "ST-S-62")
def test_global_rules_with_tags_and_without_a_source_are_always_true() -> None:
    found = made({"add_global_rules": {**CAPTURE, "include_ddl": True, "include_tagged_lcr": True}})
    assert texts(found) == [
        "(( :dml.get_source_database_name()>=' ' OR :dml.get_source_database_name()<=' ') )",
        "(( :ddl.get_source_database_name()>=' ' OR :ddl.get_source_database_name()<=' ') )",
    ]
    messages: list[Message] = [row("hr.t", tag=b"\2"), ddl("hr.t", tag=b"\2"), row("oe.x")]
    assert taken(client(found, "capture", "capture"), messages) == [True, True, True]
    check_parsed(found)


@pytest.mark.req("ST-S-57", "ST-S-64")
def test_all_changes_with_rules_and_without_a_rule_set() -> None:
    changes: list[Message] = [row("hr.t"), row("oe.x", "DELETE"), ddl("hr.t"), ddl("oe.ix", "CREATE INDEX")]
    with_rules = client(made({"add_global_rules": {**CAPTURE, "include_ddl": True}}), "capture", "capture")
    without = client(made({"create_capture": {"queue_name": "q", "capture_name": "c"}}), "capture", "c")
    assert taken(with_rules, changes) == taken(without, changes) == [True] * 4


@pytest.mark.req("ST-S-71", "ST-S-72", "ST-S-73")
def test_schema_rules_of_a_propagation() -> None:
    call = {"schema_name": "hr", **PROPAGATION, "include_ddl": True, "source_database": SOURCE}
    found = made({"add_schema_propagation_rules": call})
    assert texts(found) == [
        "((:dml.get_object_owner() = 'HR') and :dml.is_null_tag() = 'Y' and "
        ":dml.get_source_database_name() = 'DBS1.EXAMPLE.COM' )",
        "((:ddl.get_object_owner() = 'HR' or :ddl.get_base_table_owner() = 'HR') and :ddl.is_null_tag() = 'Y' and "
        ":ddl.get_source_database_name() = 'DBS1.EXAMPLE.COM' )",
    ]
    propagation = client(found, "propagation", "dbs1_to_dbs2")
    assert propagation.destination == "streams_queue@dbs2.example.com"
    assert propagation.positive is not None and propagation.negative is None
    check_parsed(found)


@pytest.mark.req("ST-S-75", "ST-S-76", "ST-S-77", "ST-S-78")
def test_what_the_propagation_of_a_schema_takes() -> None:
    call = {"schema_name": "hr", **PROPAGATION, "include_ddl": True, "source_database": SOURCE}
    propagation = client(made({"add_schema_propagation_rules": call}), "propagation", "dbs1_to_dbs2")
    inside: list[Message] = [
        row("hr.countries"),
        ddl("hr.loc_city_ix", "ALTER INDEX", base="hr.locations"),
        ddl("hr.employees", "TRUNCATE TABLE"),
        ddl("hr.countries"),
        ddl("hr.update_job_history", "ALTER TRIGGER", base="hr.employees"),
        ddl("hr.candidates", "CREATE TABLE"),
        *[row("hr.candidates")] * 20,
    ]
    assert taken(propagation, inside) == [True] * 26
    assert taken(propagation, [row("oe.inventories")]) == [False]


@pytest.mark.req("ST-S-74")
def test_the_base_tables_owner_counts_where_the_object_has_none() -> None:
    found = made({"add_schema_rules": {"schema_name": "hr", **APPLY, "include_dml": False, "include_ddl": True}})
    lcr = ddl("hr.t", "CREATE INDEX", base="hr.t")
    nobodys = type(lcr)(None, None, DBS1, command="CREATE INDEX", base_owner="HR", base_name="T")
    assert taken(client(found, "apply", "apply"), [nobodys]) == [True]


@pytest.mark.req("ST-S-85", "ST-S-86", "ST-S-89", "ST-S-90")
def test_table_rules_of_an_apply_process() -> None:
    found = made(
        {"add_table_rules": {"table_name": "hr.locations", **APPLY}},
        {"add_table_rules": {"table_name": "hr.countries", **APPLY, "include_dml": False, "include_ddl": True}},
    )
    assert texts(found) == [
        "(((:dml.get_object_owner() = 'HR' and :dml.get_object_name() = 'LOCATIONS')) and :dml.is_null_tag() = 'Y' and "
        ":dml.get_source_database_name() = 'DBS1.EXAMPLE.COM' )",
        "(((:ddl.get_object_owner() = 'HR' and :ddl.get_object_name() = 'COUNTRIES') or "
        "(:ddl.get_base_table_owner() = 'HR' and :ddl.get_base_table_name() = 'COUNTRIES')) and "
        ":ddl.is_null_tag() = 'Y' and :ddl.get_source_database_name() = 'DBS1.EXAMPLE.COM' )",
    ]
    apply = client(found, "apply", "apply")
    applied: list[Message] = [row("hr.locations"), *[row("hr.locations", "DELETE")] * 5, ddl("hr.countries")]
    ignored: list[Message] = [row("hr.employees"), row("hr.countries", "UPDATE"), ddl("hr.locations")]
    assert taken(apply, applied) == [True] * 7
    assert taken(apply, ignored) == [False] * 3
    check_parsed(found)


@pytest.mark.req("ST-S-87", "ST-S-88")
def test_how_far_a_ddl_rule_of_a_table_reaches() -> None:
    call = {"table_name": "hr.countries", **APPLY, "include_dml": False, "include_ddl": True}
    apply = client(made({"add_table_rules": call}), "apply", "apply")
    parts: list[Message] = [
        ddl("hr.c_ix", "CREATE INDEX", base="hr.countries"),
        ddl("hr.c_tr", "CREATE TRIGGER", base="hr.countries"),
    ]
    others = [ddl(f"hr.{name}", f"CREATE {name}") for name in ("VIEW", "SYNONYM", "FUNCTION")]
    assert taken(apply, [*parts, *others]) == [True, True, False, False, False]


@pytest.mark.req("ST-N-10", "ST-N-11", "ST-N-13", "ST-N-14")
def test_a_schema_without_one_table() -> None:
    negative = {**APPLY, "include_tagged_lcr": True, "inclusion_rule": False}
    found = made(
        {"add_schema_rules": {"schema_name": "hr", **APPLY}},
        {"add_table_rules": {"table_name": "hr.job_history", **negative}},
    )
    assert texts(found) == [
        "((:dml.get_object_owner() = 'HR') and :dml.is_null_tag() = 'Y' and "
        ":dml.get_source_database_name() = 'DBS1.EXAMPLE.COM' )",
        "(((:dml.get_object_owner() = 'HR' and :dml.get_object_name() = 'JOB_HISTORY')) and "
        ":dml.get_source_database_name() = 'DBS1.EXAMPLE.COM' )",
    ]
    apply = client(found, "apply", "apply")
    applied: list[Message] = [
        row("hr.departments"),
        *[row("hr.employees", "UPDATE")] * 5,
        row("hr.countries", "DELETE"),
    ]
    assert taken(apply, applied) == [True] * 7
    assert taken(apply, [row("hr.job_history", one) for one in ("INSERT", "UPDATE", "DELETE")]) == [False] * 3
    check_parsed(found)


@pytest.mark.req("ST-N-11")
def test_tagged_changes_of_an_excluded_table_are_discarded_too() -> None:
    found = made(
        {"add_schema_rules": {"schema_name": "hr", **APPLY, "include_tagged_lcr": True}},
        {
            "add_table_rules": {
                "table_name": "hr.job_history",
                **APPLY,
                "include_tagged_lcr": True,
                "inclusion_rule": False,
            }
        },
    )
    tagged = [row("hr.job_history", tag=b"\1"), row("hr.jobs", tag=b"\1")]
    assert taken(client(found, "apply", "apply"), tagged) == [False, True]


@pytest.mark.req("ST-A-01", "ST-A-03", "ST-A-04")
def test_and_condition() -> None:
    call = {"table_name": "hr.departments", **APPLY, "streams_name": "apply_02", "include_ddl": True}
    found = made(
        {"add_table_rules": {**call, "include_tagged_lcr": True, "and_condition": ":lcr.get_tag() = HEXTORAW('02')"}}
    )
    assert texts(found) == [
        "(((((:dml.get_object_owner() = 'HR' and :dml.get_object_name() = 'DEPARTMENTS')) and "
        ":dml.get_source_database_name() = 'DBS1.EXAMPLE.COM' )) and (:dml.get_tag() = HEXTORAW('02')))",
        "(((((:ddl.get_object_owner() = 'HR' and :ddl.get_object_name() = 'DEPARTMENTS') or "
        "(:ddl.get_base_table_owner() = 'HR' and :ddl.get_base_table_name() = 'DEPARTMENTS')) and "
        ":ddl.get_source_database_name() = 'DBS1.EXAMPLE.COM' )) and (:ddl.get_tag() = HEXTORAW('02')))",
    ]
    apply = client(found, "apply", "apply_02")
    tags = (b"\2", b"\3", None)
    assert taken(apply, [row("hr.departments", tag=tag) for tag in tags]) == [True, False, False]
    assert taken(apply, [ddl("hr.departments", tag=tag) for tag in tags]) == [True, False, False]
    check_parsed(found)


@pytest.mark.req("ST-A-01")
def test_an_or_in_an_and_condition_keeps_its_parentheses() -> None:
    extra = ":lcr.get_command_type() = 'INSERT' OR :lcr.get_command_type() = 'DELETE'"
    apply = client(made({"add_table_rules": {"table_name": "hr.t", **APPLY, "and_condition": extra}}), "apply", "apply")
    changes = [row("hr.t"), row("hr.t", "UPDATE"), row("hr.t", "DELETE"), row("hr.u"), row("hr.u", "DELETE")]
    assert taken(apply, changes) == [True, False, True, False, False]


@pytest.mark.req("ST-A-02")
def test_an_and_condition_has_the_variable_lcr() -> None:
    call = {"table_name": "hr.t", **APPLY, "and_condition": "\n  :dml.get_scn() > 1"}
    with pytest.raises(RuleError, match=r"and_condition of add_table_rules, line 2, column 3: :dml") as found:
        made({"add_table_rules": call})
    assert found.value.code == "RUL-115"


@pytest.mark.req("ST-A-05", "ST-A-06")
@pytest.mark.parametrize(
    ("function", "needs"),
    [(":lcr.get_object_type() = 'TABLE'", "include_ddl"), (":lcr.get_value('NEW','K') IS NULL", "include_dml")],
)
def test_a_function_of_one_kind_of_lcr(function: str, needs: str) -> None:
    call = {"table_name": "hr.t", **APPLY, "include_dml": True, "include_ddl": True, "and_condition": function}
    with pytest.raises(RuleError, match="to false") as found:
        made({"add_table_rules": call})
    assert found.value.code == "RUL-106"
    other = {"include_dml": "include_ddl", "include_ddl": "include_dml"}[needs]
    rules = made({"add_table_rules": {**call, other: False}}).rules
    assert len(rules) == 1


@pytest.mark.req("ST-S-79")
def test_names_are_spelled_as_the_database_spells_them() -> None:
    names = {"hr.Locations": ("hr", "locations"), '"HR"."Locations"': ("HR", "Locations")}
    for written, (owner, name) in names.items():
        call = {"table_name": written, "streams_type": "dequeue", "streams_name": "c"}
        found = made({"add_table_rules": call}, case=NameCase.LOWER)
        (rule,) = found.rules.values()
        assert f"= '{owner}' and :dml.get_object_name() = '{name}'" in rule.text
    with pytest.raises(RuleError, match="is no table's name") as refused:
        made({"add_table_rules": {"table_name": "locations", "streams_type": "dequeue"}})
    assert refused.value.code == "RUL-113"


@pytest.mark.req("ST-R-42")
def test_levels_are_mixed() -> None:
    found = made(
        {"add_table_rules": {"table_name": "oe.orders", **APPLY}},
        {"add_table_rules": {"table_name": "oe.lines", **APPLY}},
        {"add_schema_rules": {"schema_name": "hr", **APPLY}},
    )
    changes = [row(name) for name in ("oe.orders", "oe.lines", "oe.other", "hr.any", "hr.t", "sh.x")]
    assert taken(client(found, "apply", "apply"), changes) == [True, True, False, True, True, False]


@pytest.mark.req("ST-N-07", "ST-N-08", "ST-N-09", "ST-A-08")
def test_three_ways_to_leave_out_one_table() -> None:
    """G-32: a new table is missing by the first way, and there by the others."""
    excluded = {"table_name": "hr.b", **APPLY, "include_tagged_lcr": True, "inclusion_rule": False}
    unlike = ":lcr.get_object_name() <> 'B'"
    ways = [
        made(*({"add_table_rules": {"table_name": f"hr.{name}", **APPLY}} for name in ("a", "c"))),
        made({"add_schema_rules": {"schema_name": "hr", **APPLY, "and_condition": f"NOT (NOT {unlike})"}}),
        made({"add_schema_rules": {"schema_name": "hr", **APPLY}}, {"add_table_rules": excluded}),
    ]
    changes = [row(f"hr.{name}") for name in ("a", "b", "c", "new")]
    found = [taken(client(one, "apply", "apply"), changes) for one in ways]
    assert found == [[True, False, True, False], [True, False, True, True], [True, False, True, True]]
    assert [any(not rule.is_system for rule in one.rules.values()) for one in ways] == [False, True, False]
    assert len(ways[2].rules) == 2
