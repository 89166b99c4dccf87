"""AdaptDDL parameters and the sides on which they act."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_ddlrepl.adapt.policy import Policy, policy_at
from airflow_ddlrepl.config.file.load import read_channel
from airflow_ddlrepl.config.file.warnings import warnings
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.policies import Defaults
from airflow_ddlrepl.config.sections.scope import Scope
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.scope.client import Client
from airflow_ddlrepl.scope.decide import ChangeKind, decide

T = TableName("public", "t")
AT_SOURCE = {
    "add_table_pattern": "t*",
    "ignore_table_pattern": "tmp*",
    "capture_schema": "aa1",
    "integrate_schema": "bb1",
    "on_drop_table": "KEEP",
}
AT_TARGET = {
    "on_enroll_break": "WARNING",
    "on_add_column_with_default": "WARNING",
    "on_preserve_alter_table_fail": "FAIL_INTEG_JOB",
    "refresh_options": "-gr",
    "keep_existing_structure": True,
    "keep_old_rows": True,
}
NEEDED = {
    "ignore_table_pattern": {"add_table_pattern": "*"},
    "capture_schema": {"add_table_pattern": "*"},
    "integrate_schema": {"add_table_pattern": "*", "capture_schema": "aa1"},
}


def channel(
    *, both: list[object] | None = None, source: list[object] | None = None, target: list[object] | None = None
) -> Channel:
    """With these actions at the channel, the source, the target."""
    data = {
        "channel": "shop",
        "source": {"location": "postgresql://app@localhost/shop", "tables": ["public.*"], "adapt_ddl": source or []},
        "targets": [
            {"name": "warehouse", "location": "postgresql://dw@localhost/warehouse", "adapt_ddl": target or []},
            {"name": "own", "location": "postgresql://dw@localhost/own", "schemas": {"aa1": "mine"}},
        ],
        "adapt_ddl": both or [],
    }
    return read_channel(json.dumps(data))


def at(name: str, of: Channel) -> list[str]:
    """Where a table of that name goes, at both targets."""
    return [str(of.at(target).target_name(TableName(*name.split(".")))) for target in ("warehouse", "own")]


def shown(key: str, **requirements: str) -> Any:
    """The parameter, with the requirement that is about it alone."""
    return pytest.param(key, marks=[pytest.mark.req(requirements[key])] if key in requirements else [])


@pytest.mark.req("HVR-P-07", "HVR-P-18")
def test_what_an_action_lacks_to_do_anything() -> None:
    told = warnings(channel(both=[{"add_table_pattern": "*", "table": "t"}, {"ignore_table_pattern": "x"}]))
    assert told == [
        "adapt_ddl[0]: add_table_pattern belongs into an action for all tables: take `table` out",
        "adapt_ddl[1]: ignore_table_pattern does nothing without add_table_pattern in the same action",
    ]


@pytest.mark.req("HVR-P-52")
@pytest.mark.parametrize(
    ("version", "lacking"),
    [("6.2.5/2", []), ("6.10.0/0", []), ("6.2.5/1", ["on_add"]), ("6.2.0/9", ["on_add", "-inow in refresh_options"])],
)
def test_what_a_version_of_hvr_does_not_have_is_a_warning(version: str, lacking: list[str]) -> None:
    action = {"on_add_column_with_default": "REFRESH", "refresh_options": "-inow"}
    made = channel(target=[action]).model_copy(update={"defaults": Defaults.HVR, "hvr_version": version})
    told = [one for one in warnings(made) if one.startswith(f"targets[0].adapt_ddl[0]: HVR {version} has no ")]
    assert [why for why in lacking if not any(f" has no {why}" in one for one in told)] == []
    assert len(told) == len(lacking)
    own = made.model_copy(update={"defaults": Defaults.OWN})
    assert "hvr_version does nothing without `defaults: hvr`" in warnings(own)


def test_a_version_of_hvr_has_four_numbers() -> None:
    data = {"channel": "shop", "source": {"location": "postgresql://localhost/shop", "tables": ["public.*"]}}
    places = {"targets": [{"name": "warehouse", "location": "postgresql://localhost/dw"}]}
    read = {**data, **places, "defaults": "hvr", "hvr_version": "6.2.5/2"}
    assert read_channel(json.dumps(read)).hvr_version == "6.2.5/2"
    with pytest.raises(ConfigError, match="hvr_version"):
        read_channel(json.dumps({**read, "hvr_version": "six"}))


@pytest.mark.req("XR-06")
@pytest.mark.parametrize(
    "key", [shown(key, keep_existing_structure="HVR-P-99", refresh_options="HVR-P-104") for key in AT_TARGET]
)
def test_what_acts_at_a_target_does_nothing_at_the_source(key: str) -> None:
    made = channel(source=[{key: AT_TARGET[key]}])
    assert any(f"source.adapt_ddl[0].{key} does nothing at the source" in told for told in warnings(made))
    assert policy_at(made.at("warehouse"), T) == Policy()
    there = channel(target=[{key: AT_TARGET[key]}])
    assert not any("does nothing" in told for told in warnings(there))
    assert policy_at(there.at("warehouse"), T) != Policy() == policy_at(there.at("own"), T)


@pytest.mark.req("XR-06")
@pytest.mark.parametrize(
    "key",
    [shown(key, add_table_pattern="HVR-P-10", capture_schema="HVR-P-25") for key in AT_SOURCE],
)
def test_what_acts_at_the_source_does_nothing_at_a_target(key: str) -> None:
    action = {**NEEDED.get(key, {}), key: AT_SOURCE[key]}
    made = channel(target=[action])
    assert any(f"targets[0].adapt_ddl[0].{key} does nothing at a target" in told for told in warnings(made))
    assert Scope.of(made) == Scope.of(channel())
    assert at("aa1.t", made) == ["aa1.t", "mine.t"]
    if key != "on_drop_table":
        assert not any("does nothing" in told for told in warnings(channel(source=[action])))


@pytest.mark.req("HVR-P-27", "HVR-P-28", "HVR-P-30")
def test_new_tables_of_a_schema_go_into_another() -> None:
    """What a target's `schemas` say comes first."""
    one = {"add_table_pattern": "*", "capture_schema": "aa1", "integrate_schema": "bb1"}
    two = {
        "add_table_pattern": "t*",
        "ignore_table_pattern": "tmp*",
        "capture_schema": "aa2",
        "integrate_schema": "bb2",
    }
    made = channel(source=[one], both=[two])
    assert at("aa1.tab", made) == ["bb1.tab", "mine.tab"]
    assert at("AA1.tab", made) == ["bb1.tab", "bb1.tab"]
    assert at("aa2.tab", made) == ["bb2.tab", "bb2.tab"]
    for other in ("aa2.tmp_1", "aa2.x", "public.tab"):
        assert at(other, made) == [other, other]


@pytest.mark.req("HVR-P-32")
def test_integrate_schema_needs_the_schema_that_it_is_for() -> None:
    with pytest.raises(ConfigError, match="integrate_schema says where tables of capture_schema go"):
        channel(both=[{"add_table_pattern": "*", "integrate_schema": "bb1"}])


@pytest.mark.req("HVR-P-22")
@pytest.mark.parametrize(("schema", "wanted"), [("aa1", True), ("AA1", True), ("Aa1", True), ("aa11", False)])
def test_capture_schema_compares_without_case(schema: str, wanted: bool) -> None:
    scope = Scope.of(channel(both=[{"add_table_pattern": "*", "capture_schema": "AA1"}]))
    assert decide(Client(scope), TableName(schema, "t"), ChangeKind.NEW_TABLE).is_taken is wanted
