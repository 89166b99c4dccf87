"""The pages do not call a table equal that a comparison could not decide about."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.flow.comparing.in_flight import settled
from airflow_ddlrepl.flow.health.channel import channel_health
from airflow_ddlrepl.flow.health.history import table_history
from airflow_ddlrepl.plugin.channel_page import channel_page
from airflow_ddlrepl.plugin.pages import page
from airflow_ddlrepl.plugin.table_list import PageQuery
from airflow_ddlrepl.plugin.table_page import table_page
from airflow_ddlrepl.repository.repository import Repository
from tests.conftest import Databases
from tests.support.replica import Replica, activating


def pages(replica: Replica) -> tuple[str, str]:
    """The page of the channel, and that of its only table."""
    with Repository.open(load_channel(replica.file).repository) as repository:
        health = channel_health(repository, "shop", datetime.now(UTC)) | {"changes": [], "clients": {}}
        table_id = health["tables"][0]["table_id"]
        history = table_history(repository, "shop", table_id) | {"on_its_way": [], "queued": [], "errors": []}
    channel = channel_page(health, PageQuery()) | {"dag": "", "is_paused": False}
    shown = page("channel.html", "../", title="shop", trail=[], **channel)
    table = page("table.html", "../../../", title="t", trail=[], **table_page(health, history))
    return bytes(shown.body).decode(), bytes(table.body).decode()


def test_they_say_that_nobody_can_tell(databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replica = activating(databases, tmp_path)(
        "CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)", retention={"age": 0}
    )
    replica.settle()
    assert all("can't tell" not in one and "nobody can tell" not in one for one in pages(replica))
    replica.at_source("INSERT INTO t VALUES (2)")
    replica.capture()

    def judged(*given: Any) -> Any:
        for _ in range(2):
            replica.replicate()
        return settled(*given)

    monkeypatch.setattr("airflow_ddlrepl.flow.comparing.compare.settled", judged)
    assert replica.compare().undecided
    channel, table = pages(replica)
    assert "can't tell what differs" in channel
    assert "no differences, but nobody can tell which rows differ: the log that the target" in table
