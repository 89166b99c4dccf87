"""The DAG under a real scheduler, as a user runs it: bundle configured, `dags unpause`, `dags trigger`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.airflow import shop
from tests.airflow.standalone import Standalone

DAG = "ddlrepl__standalone__replicate"


@pytest.mark.e2e
@pytest.mark.timeout(900)
@pytest.mark.xdist_group("standalone")
def test_a_triggered_run_replicates(databases: Any, tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="ddlrepl-standalone-") as folder:
        home = Path(folder)
        channels = home / "channels"
        connections = {"AIRFLOW_CONN_SHOP_SOURCE": databases.source, "AIRFLOW_CONN_SHOP_TARGET": databases.target}
        shop.run_sql(databases.source, shop.BEFORE)
        with pytest.MonkeyPatch.context() as patch, Standalone(home, channels, connections) as airflow:
            for name, value in connections.items():
                patch.setenv(name, value)
            shop.activate(shop.write_channel(channels, home, "standalone", "shop_source", "shop_target"))
            shop.run_sql(databases.source, shop.CHANGES)
            airflow.wait_for_dag(DAG)
            airflow.command("dags", "unpause", DAG, "--yes")
            airflow.command("dags", "trigger", DAG, "--run-id", "first")
            assert airflow.wait_for_run(DAG, "first", 420) == "success", airflow.task_logs()
            assert airflow.returned(DAG, "first", "capture")["ddl"]["ALTER TABLE"] == 2
            for table in ("orders", "customers"):
                assert shop.rows(databases.target, table) == shop.rows(databases.source, table)
