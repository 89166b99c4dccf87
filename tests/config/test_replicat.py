"""`replicat` at a target in a channel file: what tables are called there, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from airflow_ddlrepl.config.file.load import read_channel
from airflow_ddlrepl.config.file.warnings import warnings
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.settings.table_settings import NO_SETTINGS
from airflow_ddlrepl.scope.client import client_at
from airflow_ddlrepl.scope.decide import ChangeKind, decide

MAPS = [{"source": "hr.tab*", "target": "bk.Bak_*"}, {"source": "hr.*", "target": "bk.*"}]

TABLES = {"include": [{"scope": "MAPPED", "objtype": "TABLE"}]}


def read(replicat: dict[str, Any], target: dict[str, Any] | None = None, **more: Any) -> Channel:
    source = {"location": "postgresql://a/b", "tables": ["*.*"], **more.pop("source", {})}
    targets = [
        {"name": "w", "location": "postgresql://c/d", "replicat": replicat, **(target or {})},
        {"name": "plain", "location": "postgresql://e/f"},
    ]
    return read_channel(yaml.safe_dump({"channel": "shop", "source": source, "targets": targets, **more}))


@pytest.mark.parametrize(
    ("name", "there", "is_there"),
    [
        ("hr.tabPay", "bk.bak_tabPay", True),
        ("hr.pay", "bk.pay", True),
        ("hr.tmp", "hr.tmp", False),
        ("oe.pay", "oe.pay", False),
    ],
)
def test_maps_say_which_tables_are_at_the_target_and_how_they_are_called(name: str, there: str, is_there: bool) -> None:
    channel = read({"maps": MAPS, "exclude": ["hr.tmp"]})
    table = TableName(*name.split("."))
    assert str(channel.at("w").target_name(table)) == there
    assert channel.at("plain").target_name(table) == table
    for kind in ChangeKind:
        decided = decide(client_at(channel.at("w")), table, kind)
        assert (decided.is_taken, decided.why) == (
            (True, "") if is_there else (False, "no MAP of the target's replicat lists the table")
        )
        assert decide(client_at(channel.at("plain")), table, kind).is_taken


def test_another_name_is_another_setting_of_the_table() -> None:
    table = TableName("hr", "pay")
    same, other = ([{"source": "hr.*", "target": target}] for target in ("hr.*", "bk.*"))
    assert read({"maps": same}).at("w").settings(table) == NO_SETTINGS
    assert read({"maps": other}).at("w").settings(table).names.mapped == '"bk"."pay"'


@pytest.mark.parametrize(
    ("parameters", "more", "problem"),
    [
        ({}, {}, r"channel:\d+: targets\[0\].*replicat has no `maps`"),
        ({"maps": [{"source": "hr.*", "target": "bk"}]}, {}, "MAP and TARGET are both of the form schema.name"),
        ({"maps": MAPS}, {"target": {"schemas": {"a": "b"}}}, "schemas is not for a target with replicat"),
        ({"maps": MAPS}, {"target": {"adapt_ddl": [{}]}}, "adapt_ddl is not for a target with replicat"),
        ({"maps": MAPS}, {"table_properties": [{"name": "x"}]}, r"table_properties\[0\] is for target w, too"),
        ({"maps": MAPS}, {"source": {"ddl": "relations"}}, "target w has replicat, and without event triggers"),
        ({"map": MAPS}, {}, r"unknown key targets\[0\].replicat.map"),
    ],
)
def test_what_is_refused(parameters: dict[str, Any], more: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        read(parameters, **more)


@pytest.mark.parametrize(
    ("parameters", "more", "expected"),
    [
        ({}, {}, ["statements about no table run there"]),
        ({"ddl": TABLES}, {}, ["lets source and target differ"]),
        ({"ddl": {"include": [{"scope": "MAPPED"}]}}, {}, ["lets source and target differ", "about no table"]),
        ({"errors": [{"error": "42P07", "action": "IGNORE"}]}, {}, ["lets source and target differ", "about no table"]),
        ({"errors": [{"error": "42P07", "action": "ABEND"}]}, {}, ["about no table"]),
        ({"remove_comments": ["before", "after"]}, {}, ["`after` is redundant", "about no table"]),
        (
            {},
            {"adapt_ddl": [{"on_enroll_break": "REFRESH"}]},
            ["policies of adapt_ddl do nothing there", "about no table"],
        ),
        ({"maps": MAPS}, {}, ["about no table", "hr.tabx becomes bk.Bak_tabx"]),
        ({"maps": [{"source": "hr.pay", "target": "bk.*"}]}, {}, ["about no table"]),
    ],
)
def test_what_is_warned_of(parameters: dict[str, Any], more: dict[str, Any], expected: list[str]) -> None:
    parameters = {"maps": MAPS[1:], **parameters}
    found = [line for line in warnings(read(parameters, **more)) if "replicat" in line]
    assert [part in line for part, line in zip(expected, found, strict=True)] == [True] * len(expected)


def test_names_of_other_targets_are_given_by_table_properties() -> None:
    channel = read({"maps": MAPS}, table_properties=[{"targets": ["plain"], "name": "x"}])
    assert str(channel.at("plain").target_name(TableName("hr", "pay"))) == "hr.x"
