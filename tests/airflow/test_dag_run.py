"""The channel's DAG, run as Airflow runs it (dag.test), on real databases with real Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db

from airflow_ddlrepl.bundles import ChannelDagBundle
from airflow_ddlrepl.errors import ControlStop, SourceError
from airflow_ddlrepl.hooks.local_app import LocalAppHook
from airflow_ddlrepl.operators.base import DdlReplSparkOperator
from airflow_ddlrepl.operators.integrate import IntegrateOperator
from tests.airflow.support import shop

STAGES = ("capture", "adapt", "refresh", "integrate")


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The apps that were started."""
    apps: list[str] = []
    submit = LocalAppHook.submit

    def counted(hook: LocalAppHook, application: str = "", **options: Any) -> None:
        apps.append(Path(application).stem)
        submit(hook, application, **options)

    monkeypatch.setattr(LocalAppHook, "submit", counted)
    return apps


def the_dag(name: str) -> Any:
    """From our bundle, as the DAG processor finds and stores it."""
    bundle = ChannelDagBundle(name="ddlrepl")
    DagBundlesManager().sync_bundles_to_db()
    bag = DagBag(bundle.path, bundle_path=bundle.path, bundle_name="ddlrepl")
    assert bag.import_errors == {}
    sync_bag_to_db(bag, "ddlrepl", None)
    return bag.dags[name]


def run_dag(name: str, stages: Sequence[str] = STAGES, **conf: str) -> dict[str, dict[str, Any]]:
    """Runs it; what each task returned."""
    dag = the_dag(name)
    for task in dag.tasks:
        task.retries = 0  # dag.test() would wait for the next try and say so every second
    run = dag.test(run_conf=conf)
    tasks = [ti for ti in run.get_task_instances() if ti.task_id != "end"]
    assert {ti.task_id: str(ti.state) for ti in tasks} == dict.fromkeys(stages, "success")
    return {ti.task_id: ti.xcom_pull(task_ids=ti.task_id) for ti in tasks}


@pytest.mark.req("DC-01", "DC-02")
def test_a_channel_is_enrolled_and_rows_and_schema_changes_arrive(
    databases: Any,
    tmp_path: Path,
    channels_folder: Path,
    airflow_database: None,
    starts: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_DAG_SOURCE", databases.source)
    monkeypatch.setenv("AIRFLOW_CONN_DAG_TARGET", databases.target)
    channel = shop.write_channel(channels_folder, tmp_path, "dagrun", "dag_source", "dag_target")
    try:
        shop.run_sql(databases.source, shop.BEFORE)
        (enrolled,) = run_dag("ddlrepl__dagrun__enroll", ["enroll"]).values()
        assert (enrolled["tables"], enrolled["refreshed"]) == (["public.orders"], {"public.orders": 50})
        assert starts == ["activate"]
        starts.clear()
        shop.run_sql(databases.source, shop.CHANGES)
        told = run_dag("ddlrepl__dagrun__replicate")
        assert starts == ["capture", "adapt_ddl", "integrate"]
        assert told["capture"]["rows"] > 0
        assert told["capture"]["ddl"]["ALTER TABLE"] == 2
        for table in ("orders", "customers"):
            assert shop.rows(databases.target, table) == shop.rows(databases.source, table)
        starts.clear()
        again = run_dag("ddlrepl__dagrun__replicate")
        assert starts == []
        assert {stage: told["worked"] for stage, told in again.items()} == dict.fromkeys(STAGES, False)
        shop.run_sql(databases.target, ["DELETE FROM orders"])
        run_dag("ddlrepl__dagrun__refresh", ["refresh"], tables="public.orders")
        assert starts == ["refresh"]
        assert shop.rows(databases.target, "orders") == shop.rows(databases.source, "orders")
    finally:
        channel.unlink()


@pytest.mark.parametrize("stage", ["adapt", "refresh"])
def test_what_stops_one_target_keeps_no_other_from_its_rows(
    tmp_path: Path, channels_folder: Path, airflow_database: None, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    """A stage that fails has gone as far as it could: those after it work, and the run has failed all the same."""
    came: list[str] = []

    def works(operator: DdlReplSparkOperator, *_: object) -> dict[str, Any]:
        came.append(operator.stage)
        if operator.stage == stage:
            raise ControlStop("one target waits for a person", code="CTL-101")
        return {}

    monkeypatch.setattr(DdlReplSparkOperator, "_run", works)
    monkeypatch.setattr(IntegrateOperator, "finish", lambda *_: None)
    channel = shop.write_channel(channels_folder, tmp_path, f"stopped_{stage}", "dag_source", "dag_target")
    try:
        run = the_dag(f"ddlrepl__stopped_{stage}__replicate").test()
        assert came == list(STAGES)
        assert {ti.task_id for ti in run.get_task_instances() if str(ti.state) == "failed"} == {stage}
        assert str(run.state) == "failed"
    finally:
        channel.unlink()


def test_without_a_capture_nothing_else_is_done(
    tmp_path: Path, channels_folder: Path, airflow_database: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    came: list[str] = []

    def fails(operator: DdlReplSparkOperator, *_: object) -> dict[str, Any]:
        came.append(operator.stage)
        raise SourceError("it refuses", code="SRC-100")

    monkeypatch.setattr(DdlReplSparkOperator, "_run", fails)
    channel = shop.write_channel(channels_folder, tmp_path, "uncaptured", "dag_source", "dag_target")
    try:
        assert str(the_dag("ddlrepl__uncaptured__replicate").test().state) == "failed"
        assert came == ["capture"]
    finally:
        channel.unlink()
