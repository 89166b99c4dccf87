"""`replay_ddl`: a table is replayed or adapted, never both; and it is at the targets what it is at the source."""

from __future__ import annotations

import json

import pytest

from airflow_ddlrepl.config.file.load import read_channel
from airflow_ddlrepl.config.sections.scope import Scope
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.source.scope_patterns import patterns_of
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.notation.name_pattern import matches
from airflow_ddlrepl.notation.pattern_overlap import patterns_intersect, schema_and_name, tables_intersect
from airflow_ddlrepl.scope.client import Client
from airflow_ddlrepl.scope.decide import ChangeKind, decide
from tests.conftest import Databases

BEGIN = """\
channel: shop
source: {location: "postgresql://app@localhost/shop", tables: ["hr.*", "sales.*", "ops.j*"]%s}
targets:
  - {name: warehouse, location: "postgresql://dw@localhost/warehouse"%s}
"""
ENTRY = 'replay_ddl:\n  - tables: ["hr.*", "ops.*"]\n    exclude: [hr.jobs, "hr.tmp*"]\n'


def channel(more: str = "", source: str = "", target: str = "") -> str:
    return BEGIN % (source, target) + more + ENTRY


def why(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read_channel(text, "shop.yml")
    assert caught.value.code == "CFG-101"
    return caught.value.message


@pytest.mark.req("XR-01")
@pytest.mark.parametrize(
    "action",
    [
        '{add_table_pattern: "*"}',
        '{table: "*", on_drop_table: KEEP}',
        "{keep_existing_structure: true}",
        "{table: employees}",
        '{table: "h?.[e-k]*"}',
        '{add_table_pattern: "*", capture_schema: sales, on_drop_table: KEEP}',
        '{add_table_pattern: "*", capture_schema: hr, integrate_schema: people}',
        "{table: jobs}",
        '"Table=hr.e*, KeepExistingStructure"',
    ],
)
def test_an_action_that_may_be_about_a_replayed_table(action: str) -> None:
    told = why(channel(f"adapt_ddl: [{action}]\n"))
    assert told.startswith("shop.yml:6: replay_ddl: entry [0]: ")
    assert "adapt_ddl[0]" in told
    assert "no table is both replayed and adapted" in told


@pytest.mark.parametrize("place", ["source", "target"])
def test_so_does_one_of_the_source_s_or_a_target_s_own(place: str) -> None:
    own = ", adapt_ddl: [{table: hr.a}]"
    told = why(channel(source=own if place == "source" else "", target=own if place == "target" else ""))
    assert ("source.adapt_ddl[0]" if place == "source" else "targets[0].adapt_ddl[0]") in told


@pytest.mark.parametrize(
    "action",
    [
        '{table: "sales.*", keep_existing_structure: true}',
        '{table: "[!a-z]*.x"}',
        "{table: hr.jobs, on_drop_table: KEEP}",
        '{table: "hr.tmp*"}',
        "{table: HR.tmp_1}",
        '{add_table_pattern: "*", capture_schema: sales}',
    ],
)
def test_actions_for_other_tables_stand_beside_it(action: str) -> None:
    assert read_channel(channel(f"adapt_ddl: [{action}]\n")).replay_ddl


@pytest.mark.parametrize(
    ("more", "target", "place"),
    [
        ("column_properties: [{tables: hr.a, columns: x, absent: true}]\n", "", "column_properties[0]"),
        ("column_properties: [{columns: x, name: z}]\n", "", "column_properties[0]"),
        ("table_properties: [{tables: [sales.b, employees], name: staff}]\n", "", "table_properties[0]"),
        ("", ", schemas: {hr: people}", "targets[0]"),
        ('replays: [{name: past, location: "postgresql://x@y/z", schemas: {ops: o}}]\n', "", "replays[0]"),
    ],
)
def test_other_names_at_a_target_are_refused(more: str, target: str, place: str) -> None:
    told = why(channel(more, target=target))
    assert place in told
    assert "the text of a statement can't be renamed" in told


def test_names_of_other_tables_are_anybody_s() -> None:
    more = "column_properties: [{tables: sales.a, columns: x, absent: true}]\n"
    assert read_channel(channel(more, target=", schemas: {sales: s, hr: hr}"))


def test_no_text_is_known_without_triggers() -> None:
    assert "source.ddl: relations" in why(channel(source=", ddl: relations"))


def test_which_tables_it_is_about_and_which_join(databases: Databases) -> None:
    found = read_channel(channel())
    names = [
        TableName(*name.split(".")) for name in ("hr.e", "hr.jobs", "hr.tmp1", "sales.a", "ops.jam", "ops.x", "HR.Z")
    ]
    assert [str(name) for name in names if found.replays_text(name)] == ["hr.e", "ops.jam", "ops.x", "HR.Z"]
    scope = Scope.of(found)
    joining = [str(name) for name in names if decide(Client(scope), name, ChangeKind.NEW_TABLE).is_taken]
    assert joining == ["hr.e", "hr.jobs", "hr.tmp1", "ops.jam", "HR.Z"]
    with connect(databases.source) as connection:
        rows = connection.execute(
            "SELECT n || '.' || t FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY x(n, t, o)"
            " WHERE EXISTS (SELECT FROM jsonb_array_elements(%s::jsonb) p WHERE n ~ (p ->> 0) AND t ~ (p ->> 1))"
            " ORDER BY o",
            [[n.schema for n in names], [n.name for n in names], json.dumps(patterns_of(scope)["joining"])],
        )
        assert [row[0] for row in rows] == joining


PATTERNS = ["*", "a*", "*b", "a?c", "[a-c]*", "[!a]*", "x|y*", '"A"', "abc", "a*c*e", "", "??", "*[0-9]"]
NAMES = ["", "a", "A", "b", "ab", "abc", "aBc", "x", "y1", "xb", "ace", "a1", "zz", "axcxe"]


@pytest.mark.parametrize("one", PATTERNS)
def test_patterns_that_match_one_name_meet(one: str) -> None:
    for other in PATTERNS:
        if any(matches(one, name) and matches(other, name) for name in NAMES):
            assert patterns_intersect(one, other), (one, other)
        assert patterns_intersect(one, other) == patterns_intersect(other, one)


@pytest.mark.parametrize(
    ("one", "other"), [("a*", "b*"), ("a?", "a"), ("[a-c]", "[d-f]*x"), ('"A"', '"a"'), ("x|y", "z|w*"), ("*1", "*2")]
)
def test_patterns_without_a_common_name_do_not(one: str, other: str) -> None:
    assert not patterns_intersect(one, other)
    assert not tables_intersect(schema_and_name(f"s.{one}"), schema_and_name(other))
