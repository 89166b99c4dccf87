"""A table that is not in the stream is named by runs, status, comparison and events, and comes back by a refresh."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.cli.exit_codes import judge_comparison
from airflow_ddlrepl.errors import Exit
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.flow.admin.test_asset_events import Listener
from tests.flow.capture.test_without_triggers import both
from tests.support.replica import Replica, channel_file

LEAVE = {"replica_identity": "leave"}
TABLE = "CREATE TABLE gen (id int PRIMARY KEY, a int)"


def begun(databases: Databases, folder: Path, *statements: str, **more: Any) -> Replica:
    file = channel_file(folder, databases.source, databases.target, **more)
    replica = Replica(databases.source, databases.target, file)
    replica.at_source(*statements)
    replica.activate()
    return replica


def status(replica: Replica) -> Any:
    with flow.open_channel(replica.file, InProcess()) as run:
        return flow.status(run)


def check_said(replica: Replica, result: Any, name: str, why: str) -> None:
    """The run, the status and the comparison name the table, and no other one."""
    assert result.capture.left_out.keys() == {name} and why in result.capture.left_out[name]
    assert f"left out: {name}: " in result.text()
    found = status(replica)
    (told,) = found.to_json()["left_out"]
    assert (told["table"], told["state"]) == (name, "left out") and why in told["why"]
    (row,) = [t for t in found.to_json()["targets"]["warehouse"]["tables"] if t["table"] == name]
    assert (row["state"], row["since"], row["why"]) == ("left out", told["since"], told["why"])
    since = f" since {told['since']}" if told["since"] else ""
    assert re.search(rf"\n  {name} +revision .  left out{since}: {told['why']}\n", found.text())
    report = replica.compare()
    assert report.left_out.keys() == {name} and report.differences == 0
    assert judge_comparison(report) is Exit.FAILED and report.text().endswith("0 differences, 1 not compared")


def check_comes_back(replica: Replica, *names: str) -> None:
    assert set(replica.settle().refresh.tables) == set(names)
    assert status(replica).to_json()["left_out"] == []
    assert judge_comparison(replica.compare()) is Exit.DONE


@both
@pytest.mark.parametrize("ddl", ["auto", "relations"])
def test_a_table_that_loses_its_key(
    databases: Databases, tmp_path: Path, ddl: str, caplog: pytest.LogCaptureFixture
) -> None:
    replica = begun(databases, tmp_path, TABLE, "INSERT INTO gen VALUES (1, 1)", source={**LEAVE, "ddl": ddl})
    replica.settle()
    replica.at_source("ALTER TABLE gen DROP CONSTRAINT gen_pkey", "INSERT INTO gen VALUES (2, 2)")
    with caplog.at_level(logging.WARNING, "ddlrepl"):
        result = replica.replicate()
    assert any("public.gen is left out, so its rows do not reach the targets" in text for text in caplog.messages)
    check_said(replica, result, "public.gen", "no usable replica identity")
    since = status(replica).to_json()["left_out"][0]["since"]
    replica.at_source("UPDATE gen SET a = 7", "ALTER TABLE gen ADD b int")
    check_said(replica, replica.replicate(), "public.gen", "no usable replica identity")
    assert since and status(replica).to_json()["left_out"][0]["since"] == since
    replica.at_source("ALTER TABLE gen ADD PRIMARY KEY (id)")
    check_comes_back(replica, "public.gen")


@both
@pytest.mark.parametrize("ddl", ["auto", "relations"])
@pytest.mark.parametrize(
    ("statements", "why", "then"),
    [
        (["CREATE TABLE n (id int NOT NULL)"], "no usable replica identity", "ALTER TABLE n ADD PRIMARY KEY (id)"),
        (["CREATE TABLE n () INHERITS (gen)"], "no usable replica identity", "ALTER TABLE n ADD PRIMARY KEY (id)"),
        (["CREATE UNLOGGED TABLE n (id int PRIMARY KEY)"], "unlogged", "ALTER TABLE n SET LOGGED"),
    ],
)
def test_a_new_table_that_can_not_be_in_the_stream(
    databases: Databases, tmp_path: Path, ddl: str, statements: list[str], why: str, then: str
) -> None:
    replica = begun(databases, tmp_path, TABLE, source={**LEAVE, "ddl": ddl})
    replica.at_source(*statements, "INSERT INTO n (id) VALUES (1)")
    check_said(replica, replica.replicate(), "public.n", why)
    replica.at_source("INSERT INTO n (id) VALUES (2)")
    check_said(replica, replica.replicate(), "public.n", why)
    replica.at_source(then)
    check_comes_back(replica, "public.n")
    replica.at_source("INSERT INTO n (id) VALUES (3)")
    assert replica.settle().refresh.tables == {}


@both
def test_an_unlogged_table_of_before_the_activation(databases: Databases, tmp_path: Path) -> None:
    replica = begun(databases, tmp_path, "CREATE UNLOGGED TABLE n (id int PRIMARY KEY)")
    check_said(replica, replica.replicate(), "public.n", "unlogged")


def test_the_events_of_the_data_asset_name_it(databases: Databases, tmp_path: Path) -> None:
    """Once when it leaves, and once more when it is back."""
    replica = begun(databases, tmp_path, TABLE, source=LEAVE)
    replica.replicate()
    listener = Listener(replica)
    assert listener.hear().data["left_out"] == {}  # type: ignore[index]
    replica.at_source("ALTER TABLE gen DROP CONSTRAINT gen_pkey")
    replica.replicate()
    told = listener.hear()
    assert told.data is not None and told.data["left_out"].keys() == {"public.gen"}
    assert listener.hear().data is None
    replica.at_source("ALTER TABLE gen ADD PRIMARY KEY (id)")
    replica.replicate()
    again = listener.hear()
    assert again.data is not None and again.data["left_out"] == {}


def test_one_that_is_excluded_or_not_taken_is_not_missing(databases: Databases, tmp_path: Path) -> None:
    replica = begun(
        databases,
        tmp_path,
        "CREATE UNLOGGED TABLE one (id int PRIMARY KEY)",
        "CREATE UNLOGGED TABLE two (id int PRIMARY KEY)",
        source={"exclude": ["public.one"]},
        targets=[
            {"name": "warehouse", "location": databases.target, "rules": {"negative": [{"tables": ["*.two"]}]}},
        ],
    )
    assert replica.settle().capture.left_out == {} and judge_comparison(replica.compare()) is Exit.DONE


def test_one_that_somebody_takes_out_of_the_publication(databases: Databases, tmp_path: Path) -> None:
    replica = begun(databases, tmp_path, TABLE)
    replica.settle()
    replica.at_source("ALTER PUBLICATION ddlrepl_shop DROP TABLE gen", "INSERT INTO gen VALUES (1, 1)")
    (told,) = status(replica).to_json()["left_out"]
    assert "taken it out of the publication" in told["why"]
    assert judge_comparison(replica.compare()) is Exit.FAILED
    check_comes_back(replica, "public.gen")


@pytest.mark.parametrize(
    ("source", "out", "back"),
    [
        (LEAVE, "ALTER TABLE gen DROP CONSTRAINT gen_pkey", "ALTER TABLE gen ADD PRIMARY KEY (id)"),
        ({}, "ALTER TABLE gen SET UNLOGGED", "ALTER TABLE gen SET LOGGED"),
    ],
)
def test_a_rewind_to_when_it_was_left_out_says_so(
    databases: Databases, tmp_path: Path, past: str, source: Any, out: str, back: str, caplog: pytest.LogCaptureFixture
) -> None:
    """While it is left out, and after it is back."""
    rewinds = {"rewind_horizon": {"age": "7d"}, "replays": [{"name": "past", "location": past}]}
    replica = begun(databases, tmp_path, TABLE, "INSERT INTO gen VALUES (1, 1)", source=source, **rewinds)
    replica.at_source(out, "INSERT INTO gen VALUES (2, 2)")
    moment = str(replica.replicate().capture.high)
    replica.at_source("INSERT INTO gen VALUES (3, 3)", "CREATE TABLE more (id int PRIMARY KEY)")
    replica.replicate()
    for statements in ([], [back]):
        replica.at_source(*statements)
        replica.replicate()
        (found,) = replica.plan_rewind(moment).tables
        assert found["verdict"] == "as last loaded" and "not in the log then" in found["reason"]
        caplog.clear()
        replica.rewind(moment)
        assert any("public.gen comes as it was last loaded" in text for text in caplog.messages)
    (now,) = [t for t in replica.plan_rewind(str(replica.replicate().capture.high)).tables if "gen" in t["table"]]
    assert now["verdict"].startswith("safe")
