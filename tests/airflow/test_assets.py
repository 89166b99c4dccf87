"""A channel's assets: events only when there is news, and what a DAG that waits for them gets to know."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
from airflow.models.asset import AssetDagRunQueue, AssetEvent, AssetModel
from airflow.models.dag import DagModel
from airflow.sdk import DAG
from airflow.settings import Session
from sqlalchemy import select, update

from airflow_ddlrepl import build_channel_dags
from airflow_ddlrepl.assets import data_asset, schema_asset
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.hooks.local_app import LocalAppHook
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.spark.jobs.result_file import Outcome
from airflow_ddlrepl.spark.jobs.run_stage import run_stage
from tests.airflow.support import shop
from tests.airflow.test_dag_run import STAGES, the_dag

NAME = "assets"
DAG_ID = f"ddlrepl__{NAME}__replicate"


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """What spark-submit would start runs in this process."""

    def submit(hook: LocalAppHook, application: str = "", **_: Any) -> None:
        told = dict(str(word).partition("=")[::2] for word in hook._application_args)
        stage = {"adapt_ddl": "adapt"}.get(Path(application).stem, Path(application).stem)
        channel = load_channel(Path(told["--channel"]))
        summary = run_stage(stage, channel, told["--run"], InProcess())
        Outcome(stage, channel.name, told["--run"], 0.1, summary).write(Path(told["--result"]))

    monkeypatch.setattr(LocalAppHook, "submit", submit)


@dataclass
class Shop:
    """A channel whose DAG is run, and a DAG that waits for its schema."""

    source: str
    target: str
    file: Path

    def run(self) -> dict[str, list[Any]]:
        """One run; the extras of the events that it sent, by asset."""
        dag = the_dag(DAG_ID)
        for task in dag.tasks:
            task.retries = 0
        run = dag.test()
        states = {ti.task_id: str(ti.state) for ti in run.get_task_instances()}
        assert states == dict.fromkeys((*STAGES, "end"), "success")
        self.status = next(
            ti.xcom_pull(task_ids="integrate", key="status")
            for ti in run.get_task_instances()
            if ti.task_id == "integrate"
        )
        return self.events(run.run_id)

    def events(self, run_id: str) -> dict[str, list[Any]]:
        query = select(AssetModel.name, AssetEvent).join(AssetModel, AssetModel.id == AssetEvent.asset_id)
        query = query.where(AssetEvent.source_dag_id == DAG_ID, AssetEvent.source_run_id == run_id)
        found: dict[str, list[Any]] = {}
        with Session() as session:
            for name, event in session.execute(query):
                found.setdefault(name.rpartition("__")[2], []).append(event.extra)
        return found


@pytest.fixture
def replicated(
    databases: Any,
    tmp_path: Path,
    channels_folder: Path,
    airflow_database: None,
    no_spark: None,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Shop]:
    monkeypatch.setenv("AIRFLOW_CONN_ASSETS_SOURCE", databases.source)
    monkeypatch.setenv("AIRFLOW_CONN_ASSETS_TARGET", databases.target)
    file = shop.write_channel(channels_folder, tmp_path, NAME, "assets_source", "assets_target")
    shop.run_sql(databases.source, shop.BEFORE)
    shop.activate(file)
    yield Shop(databases.source, databases.target, file)
    file.unlink()


def waits_for_the_schema(dag_id: str) -> None:
    """A DAG of a user, as the DAG processor stores it; unpaused."""
    DagBundlesManager().sync_bundles_to_db()
    bag = DagBag("/dev/null", bundle_name="ddlrepl")
    bag.bag_dag(DAG(dag_id, schedule=[schema_asset(NAME)]))
    sync_bag_to_db(bag, "ddlrepl", None)
    with Session() as session:
        session.execute(update(DagModel).where(DagModel.dag_id == dag_id).values(is_paused=False))
        session.commit()


def queued(dag_id: str) -> int:
    with Session() as session:
        query = select(AssetDagRunQueue).where(AssetDagRunQueue.target_dag_id == dag_id)
        return len(session.execute(query).all())


def test_names_hold_no_secret_and_uris_stay_as_they_are(tmp_path: Path) -> None:
    for asset, what in ((data_asset("My-shop_1"), "data"), (schema_asset("My-shop_1"), "schema")):
        assert (asset.name, asset.uri) == (f"ddlrepl__My-shop_1__{what}", f"ddlrepl://My-shop_1/{what}")
        assert asset.normalized_uri == asset.uri


def test_only_the_last_task_tells(tmp_path: Path) -> None:
    dag = build_channel_dags(shop.write_channel(tmp_path, tmp_path, "shop", "a", "b"))["ddlrepl__shop__replicate"]
    told = {task.task_id: task.outlets for task in dag.tasks if task.outlets or task.inlets}
    assert told == {"integrate": [data_asset("shop"), schema_asset("shop")]}
    assert dag.get_task("integrate").inlets == [data_asset("shop"), schema_asset("shop")]


def test_events_are_sent_when_there_is_news(replicated: Shop) -> None:
    """Nothing happened, only rows, a schema change; the first run tells what activation made."""
    waits_for_the_schema("documents_the_schema")
    first = replicated.run()
    assert {kind: len(events) for kind, events in first.items()} == {"data": 1, "schema": 1}
    assert [row["changes"] for row in first["schema"][0]["changed"]] == [["create_table public.orders"]]
    assert queued("documents_the_schema") == 1

    assert replicated.run() == {}
    shop.run_sql(replicated.source, ["UPDATE orders SET note = 'other' WHERE id = 1"])
    rows = replicated.run()
    assert list(rows) == ["data"]
    (data,) = rows["data"]
    warehouse = data["targets"]["warehouse"]
    assert data["channel"] == NAME and data["captured"] == warehouse["position"]
    assert warehouse["lag_seconds"] == 0.0
    assert replicated.run() == {}

    shop.run_sql(replicated.source, shop.CHANGES)
    both = replicated.run()
    assert {kind: len(events) for kind, events in both.items()} == {"data": 1, "schema": 1}
    (schema,) = both["schema"]
    changed = {row["table"]: row for row in schema["changed"]}
    assert {row["target"] for row in schema["changed"]} == {"warehouse"}
    assert changed["public.orders"]["changes"] == ["rename_column note -> remark", "add_column price numeric(10,2)"]
    assert changed["public.customers"]["from_revision"] is None
    tables = {row["table"]: row["revision"] for row in schema["targets"]["warehouse"]}
    assert tables == {"public.orders": changed["public.orders"]["to_revision"], "public.customers": 0}
    assert replicated.run() == {}

    shop.run_sql(replicated.source, ["DROP TABLE customers"])
    dropped = replicated.run()["schema"][0]["changed"]
    assert [(row["table"], row["changes"]) for row in dropped] == [
        ("public.customers", ["drop_table public.customers"])
    ]


def test_what_came_without_an_event_is_told_by_the_next_run(replicated: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    replicated.run()
    shop.run_sql(replicated.source, shop.CHANGES)
    for stage in STAGES:
        run_stage(stage, load_channel(replicated.file), "by hand", InProcess())
    told = replicated.run()
    assert sorted(told) == ["data", "schema"]
    assert {row["table"] for row in told["schema"][0]["changed"]} == {"public.orders", "public.customers"}


def test_a_run_ends_with_the_status(replicated: Shop, databases: Any, capfd: pytest.CaptureFixture[str]) -> None:
    from airflow_ddlrepl.cli.app import main

    replicated.run()
    capfd.readouterr()
    with pytest.raises(SystemExit):
        main(["-q", "status", "--json", str(replicated.file)])
    printed = json.loads(capfd.readouterr().out)
    told = dict(replicated.status)
    assert list(told) == list(printed)
    assert told["targets"]["warehouse"]["tables"] == printed["targets"]["warehouse"]["tables"]
    assert told["runs"][-1]["stage"] == printed["runs"][-1]["stage"]
    assert databases.server.password not in json.dumps(told) and "://" not in json.dumps(told)
