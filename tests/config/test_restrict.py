"""`restrict` in the channel file: what is accepted, what is refused and with which words."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from airflow_ddlrepl.config.file.load import read_channel
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.engines.abilities.of_target import ReplacesSomeRows
from airflow_ddlrepl.errors import ConfigError, Unsupported
from airflow_ddlrepl.flow.mapping.abilities import require_able
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.settings.table_settings import NO_SETTINGS, Rows
from airflow_ddlrepl.model.table import Table

FILE = """\
channel: shop
source:
  location: postgresql://app@localhost/shop
  tables: ["*.*"]
targets:
  - {name: berlin, location: postgresql://dw@localhost/berlin}
  - {name: paris, location: postgresql://dw@localhost/paris}
replays: [{name: past, location: postgresql://dw@localhost/past}]
"""
ORDERS, JOBS = TableName("sales", "orders"), TableName("hr", "jobs")


def channel(*restrict: Any, **more: Any) -> Channel:
    sections = {"restrict": list(restrict), **more}
    return read_channel(FILE + "".join(f"{key}: {json.dumps(value)}\n" for key, value in sections.items()))


def conditions(of: Channel, target: str) -> list[str]:
    return [of.at(target).settings(table).rows.condition for table in (ORDERS, JOBS)]


def test_the_first_that_matches_a_table_at_a_target_decides() -> None:
    found = channel(
        {"tables": "sales.*", "targets": "berlin", "condition": "a = 1"},
        {"tables": ["orders", "customers"], "condition": "b = 2"},
        {"targets": ["past"], "condition": "c = 3"},
    )
    assert conditions(found, "berlin") == ["(a = 1)", ""]
    assert conditions(found, "paris") == ["(b = 2)", ""]
    assert conditions(found, "past") == ["(b = 2)", "(c = 3)"]


def test_one_line_of_text_says_the_same() -> None:
    text = 'Table=sales.*, Condition="region = \'EU\' AND ""Amount"" > 1", Targets=berlin|paris'
    found = channel(text)
    said = {"tables": "sales.*", "condition": "region = 'EU' and \"Amount\">1", "targets": ["berlin", "paris"]}
    assert found.restrict == channel(said).restrict
    assert found.restrict[0].condition == "((region = 'EU') AND (\"Amount\" > 1))"


def test_what_is_said_of_a_table_holds_its_condition() -> None:
    """A table at a target carries it: the condition by which its rows were loaded is read from there."""
    names = [{"tables": "orders", "columns": "a", "name": "b"}]
    found = channel({"tables": "orders", "condition": "a = 'x'"}, column_properties=names)
    settings, plain = found.at("berlin").settings(ORDERS), channel(column_properties=names)
    assert settings.rows == Rows("(a = 'x')")
    assert settings.shapes_like(plain.at("berlin").settings(ORDERS)) and not settings.shapes_like(NO_SETTINGS)
    assert found.at("berlin").settings(JOBS) is NO_SETTINGS
    assert plain.at("berlin").settings(ORDERS).rows == Rows()
    assert found.has_properties and found.fingerprint() != plain.fingerprint()


def test_a_replay_for_a_target_has_the_targets_conditions() -> None:
    found = channel({"targets": "berlin", "condition": "a = 1"}, {"targets": "past", "condition": "b = 2"})
    assert conditions(found, "past") == ["(b = 2)"] * 2
    assert conditions(found.with_replay_like("berlin"), "past") == ["(a = 1)"] * 2
    assert conditions(found.with_replay_like("paris"), "past") == [""] * 2


@pytest.mark.parametrize(
    ("restrict", "told"),
    [
        ({"tables": "t"}, "restrict[0]: says none of `condition`, `refresh`, `integrate`, `capture` and"),
        ({"condition": ""}, "restrict[0].condition: "),
        ({"condition": "now() > a"}, "restrict[0].condition: now(…): there are no functions"),
        ({"condition": "a = 1; b"}, "restrict[0].condition: ; b can not be there"),
        ({"condition": "a = 1", "targets": "rome"}, "restrict[0].targets: there is no target or replay rome"),
        ({"condition": "a = 1", "tables": ""}, "restrict[0]: tables: '' can be no table's name"),
        ({"condition": "a = 1", "column": "a"}, "unknown key restrict[0].column"),
        ("Table=t, Conditon=a", "restrict[0]: there is no parameter Conditon; did you mean Condition?"),
        ("Table=t, Condition=a = 1 -- b", "restrict[0].condition: there are no comments"),
        ("Table=t, Condition", "restrict[0]: Condition needs a value"),
    ],
)
def test_what_can_not_be_is_told_with_its_line(restrict: Any, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_channel(f"{FILE}restrict:\n- {json.dumps(restrict)}\n", "shop.yml")
    assert caught.value.code == "CFG-101"
    line = 1 if ".targets" in told else 10
    assert caught.value.message.startswith(f"shop.yml:{line}: {told}")


def test_no_table_is_both_restricted_and_replayed_as_text() -> None:
    """The text of a statement may change rows that the target does not have."""
    more = {"replay_ddl": [{"tables": ["sales.*"]}]}
    with pytest.raises(ConfigError, match=r"sales\.\* can be a table of restrict\[0\]"):
        channel({"condition": "a = 1"}, **more)
    assert channel({"tables": "hr.*", "condition": "a = 1"}, **more).replays_text(ORDERS)
    assert channel({"tables": "sales.*", "ignore": ["delete"]}, **more).replays_text(ORDERS)


def test_conditions_apart_need_a_target_that_can_replace_some_rows() -> None:
    found = channel({"tables": "t", "refresh": "a = 1"}, {"condition": "b = 1"})
    plain, able = object(), ReplacesSomeRows()
    t, u = (Table(i, TableName("public", name), ()) for i, name in enumerate("tu"))
    require_able(found.at("berlin"), [t, u], able)
    require_able(found.at("berlin"), [u], plain)
    with pytest.raises(Unsupported, match="ADP-178"):
        require_able(found.at("berlin"), [t], plain)


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"condition": "a = 1", "refresh": "b = 1"}, "`condition` is for all that is taken: write it, or `refresh`"),
        ({"integrate": "a = 1", "context": "adaptddl"}, "`context` is for `refresh` alone"),
        ({"refresh": "a = 1", "context": "Adapt DDL"}, "is not of lower-case letters, digits and _"),
        ({"capture": "a = 1", "targets": "berlin"}, "`capture` is for all targets"),
    ],
)
def test_conditions_apart_that_do_not_fit_together(entry: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(says)):
        channel(entry)


def test_conditions_apart_as_one_line_of_text() -> None:
    (found,) = channel("Table=t, RefreshCondition=a = 1, Context=adaptddl").restrict
    assert (found.refresh, found.context, found.rows.of_changes) == ("(a = 1)", "adaptddl", ())


def test_a_replay_has_the_conditions_for_changes_alone() -> None:
    """Its rows come from archived loads, as a whole."""
    found = channel({"refresh": "a = 1", "integrate": "b = 1"})
    live, past = (found.at(target).settings(ORDERS).rows for target in ("berlin", "past"))
    assert (live.of_changes_alone, live.refresh) == ("((b = 1))", "(a = 1)")
    assert (past.of_changes_alone, past.refresh) == ("((b = 1))", "")
