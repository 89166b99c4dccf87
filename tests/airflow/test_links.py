"""Links of the tasks: where they lead."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_ddlrepl import build_channel_dags
from airflow_ddlrepl.get_provider_info import get_provider_info
from airflow_ddlrepl.plugin import DdlReplPlugin
from tests.airflow.support import shop

REPLICATE = "ddlrepl__shop__replicate"


def links(task: Any) -> dict[str, str]:
    """As Airflow asks for them in the worker."""
    key = SimpleNamespace(dag_id=REPLICATE, run_id="manual__2026-11-21T08:00:00+00:00", task_id=task.task_id)
    return {link.name: link.get_link(task, ti_key=key) for link in task.operator_extra_links}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return shop.write_channel(tmp_path, tmp_path, "shop", "shop_db", "warehouse_db")


def test_links_lead_to_the_page_of_the_channel(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIRFLOW__API__BASE_URL", raising=False)
    task = build_channel_dags(file)[REPLICATE].get_task("adapt")
    assert links(task) == {
        "Channel status": "/plugin/replication/ddlrepl/channels/shop",
        "DDL history": "/plugin/replication/ddlrepl/channels/shop#changes",
        "Executed SQL": "/plugin/replication/ddlrepl/channels/shop/runs/manual__2026-11-21T08%3A00%3A00%2B00%3A00",
        "Spark UI": "",
    }
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://host/airflow")
    assert links(task)["Channel status"] == "/airflow/plugin/replication/airflow/ddlrepl/channels/shop"
    monkeypatch.setenv("AIRFLOW__DDLREPL__SPARK_UI_URL", "https://history")
    assert links(task)["Spark UI"] == "https://history"
    other = build_channel_dags(file)[REPLICATE].get_task("adapt")
    other.channel = str(file.with_name("other.yaml"))
    assert {links(other)[name] for name in ("Channel status", "DDL history", "Executed SQL")} == {""}


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
