"""`ddlrepl init`: where its answers come from, where the file goes, and what stays out of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.ports.work import InProcess
from tests.cli.conftest import Init, yaml_of
from tests.conftest import Databases
from tests.support.replica import Replica, run
from tests.support.standby import Standby


def test_files_that_are_there(init: Init, databases: Databases, replica: Replica) -> None:
    init.file.write_text("mine")
    found = init()
    assert found.code == 2 and "CFG-151" in found.err and init.file.read_text() == "mine"
    assert init("--force").code == 0 and load_channel(init.file).name == "shop"
    found = init.typed(str(init.file.parent / "no" / "x.yaml"), "--source", "a", "--target", "b")
    assert found.code == 2 and "CFG-152" in found.err


def test_what_the_target_has_otherwise_is_said_before_the_load_says_it(
    init: Init, replica: Replica, capfd: pytest.CaptureFixture[str]
) -> None:
    replica.at_source(
        "create function answer() returns int language sql immutable as 'select 42'",
        "create collation local (locale = 'C')",
        "create table t (id int primary key, a int default answer(), name text collate local)",
    )
    found = init()
    assert found.code == 0
    told = [line.strip() for line in found.out.splitlines() if line.strip().startswith("public.t: unlike the source")]
    assert len(told) == 2, found.out
    replica.activate()
    logged = capfd.readouterr().err
    assert all(line.removeprefix("public.t: unlike the source: ") in logged for line in told)


def test_a_target_that_refuses_the_login(init: Init, databases: Databases) -> None:
    found = init(target=databases.target.replace(databases.server.password, "mistyped"))
    assert found.code == 4 and "CON-102" in found.out and "mistyped" not in found.out


def test_a_standby_is_no_source(init: Init, databases: Databases) -> None:
    port = f":{databases.server.port}/"
    with Standby(databases.server, "init_standby") as standby:
        standby.wait_for_log()
        found = init(source=databases.source.replace(port, f":{standby.port}/"))
    assert found.code == 1 and "-- the source is a standby" in found.out


def test_nobody_to_ask(init: Init) -> None:
    found = init.typed(str(init.file), "--source", "shop_db")
    assert found.code == 2 and "CFG-150" in found.err and "--target" in found.err


def test_connection_ids_and_variables_stay(init: Init, databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SHOP_DB", databases.source.replace("postgresql", "postgres"))
    monkeypatch.setenv("PW", databases.server.password)
    target = databases.target.replace(databases.server.password, "${PW}")
    found = init("--json", source="shop_db", target=target)
    assert found.code == 0
    assert json.loads(found.out)["environment"] == []
    data = yaml_of(init.file)
    assert data["source"]["location"] == "shop_db" and data["targets"][0]["location"] == target


def test_airflows_connections_are_known_while_it_looks(init: Init, databases: Databases) -> None:
    """As `airflow ddlrepl init` does it; the next commands are its own."""

    @contextmanager
    def connections(channel: Channel) -> Iterator[None]:
        places = {channel.source.location: databases.source, channel.targets[0].location: databases.target}
        with pytest.MonkeyPatch.context() as patch:
            for name, url in places.items():
                patch.setenv(f"AIRFLOW_CONN_{name.upper()}", url)
            yield

    found = init.typed(str(init.file), "--source", "here_db", "--target", "there_db", connections=connections)
    assert found.code == 0 and f"  airflow ddlrepl activate {init.file}" in found.out
    assert yaml_of(init.file)["source"]["location"] == "here_db"


def test_a_person_who_does_not_answer(init: Init, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> str:
        raise click.Abort

    monkeypatch.setattr("airflow_ddlrepl.cli.propose.answers.is_asking", lambda: True)
    monkeypatch.setattr("click.prompt", interrupted)
    found = init.typed(str(init.file))
    assert found.code == 2 and "CFG-153" in found.err and not init.file.exists()


def test_a_person_is_asked(init: Init, databases: Databases, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each answer has its place in the file; the password that is typed is not shown, nor written."""
    run(databases.source, "create table t (id int primary key)")
    password = f":{databases.server.password}@"
    asked: list[str] = []
    replies = {
        "Source": databases.source.replace(password, "@"),
        "Password": databases.server.password,
        "Target": databases.target.replace(password, "@"),
        "Name": "sales",
        "Tables": "public.t",
    }

    def reply(question: str, **how: Any) -> str:
        asked.append(question)
        assert how.get("hide_input", False) == question.startswith("Password")
        return next(answer for begin, answer in replies.items() if question.startswith(begin))

    monkeypatch.setattr("airflow_ddlrepl.cli.propose.answers.is_asking", lambda: True)
    monkeypatch.setattr("click.prompt", reply)
    monkeypatch.chdir(tmp_path)
    found = init.typed()
    assert found.code == 0 and databases.server.password not in found.out + found.err, found
    assert len(asked) == 6
    text = (tmp_path / "sales.yaml").read_text()
    assert databases.server.password not in text and "${SALES_SOURCE_PASSWORD}@" in text
    monkeypatch.setenv("SALES_SOURCE_PASSWORD", databases.server.password)
    monkeypatch.setenv("SALES_TARGET_PASSWORD", databases.server.password)
    with flow.open_channel(tmp_path / "sales.yaml", InProcess()) as cycle:
        flow.activate(cycle)
