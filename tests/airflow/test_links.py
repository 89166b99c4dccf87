"""Links of the tasks: where they lead, and the page that most of them lead to."""

from __future__ import annotations

import asyncio
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_ddlrepl import build_channel_dags
from airflow_ddlrepl.get_provider_info import get_provider_info
from airflow_ddlrepl.plugin import ChannelPage, DdlReplPlugin
from tests.airflow.support import shop

REPLICATE = "ddlrepl__shop__replicate"


def links(task: Any) -> dict[str, str]:
    """As Airflow asks for them in the worker."""
    key = SimpleNamespace(run_id="manual__2026-11-21T08:00:00+00:00")
    return {link.name: link.get_link(task, ti_key=key) for link in task.operator_extra_links}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return shop.write_channel(tmp_path, tmp_path, "shop", "shop_db", "warehouse_db")


def test_links_lead_to_the_page_of_the_channel(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIRFLOW__API__BASE_URL", raising=False)
    task = build_channel_dags(file)[REPLICATE].get_task("adapt")
    assert links(task) == {
        "Channel status": "/ddlrepl/channel?channel=shop#status",
        "DDL history": "/ddlrepl/channel?channel=shop#history",
        "Executed SQL": "/ddlrepl/channel?channel=shop&run=manual__2026-11-21T08%3A00%3A00%2B00%3A00#sql",
        "Spark UI": "",
    }
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://host/airflow")
    assert links(task)["Channel status"].startswith("/airflow/ddlrepl/channel?")
    monkeypatch.setenv("AIRFLOW__DDLREPL__SPARK_UI_URL", "https://history")
    assert links(task)["Spark UI"] == "https://history"
    other = build_channel_dags(file)[REPLICATE].get_task("adapt")
    other.channel = str(file.with_name("other.yaml"))
    assert links(other)["Channel status"] == ""


def test_every_task_of_ours_has_links(file: Path) -> None:
    for dag in build_channel_dags(file).values():
        for task in dag.tasks:
            if type(task).__module__.startswith("airflow_ddlrepl") and hasattr(task, "channel"):
                assert {"Channel status", "DDL history"} <= links(task).keys()


def test_the_provider_lists_the_links_and_the_plugin_is_found() -> None:
    listed = {name.rpartition(".")[2] for name in get_provider_info()["extra-links"]}
    assert listed == {"ChannelStatusLink", "DdlHistoryLink", "ExecutedSqlLink", "SparkUiLink"}
    (found,) = entry_points(group="airflow.plugins", name="ddlrepl")
    assert found.load() is DdlReplPlugin


@pytest.mark.parametrize(
    ("path", "status"), [("/ddlrepl/channel", 200), ("/ddlrepl/", 404), ("/ddlrepl/channel.html", 404)]
)
def test_the_page_holds_no_data_and_puts_none_into_markup(path: str, status: int) -> None:
    """It is sent to anybody; what it shows comes from Airflow's API, with the rights of who looks."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {}

    asyncio.run(ChannelPage()({"type": "http", "method": "GET", "path": path}, receive, send))
    assert sent[0]["status"] == status
    body = sent[1]["body"].decode()
    assert "innerHTML" not in body and "insertAdjacentHTML" not in body and "document.write" not in body
