"""No password of a connection reaches Airflow's database (XCom, rendered fields), a log, Spark's events or `ps`."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.airflow.support import shop
from tests.airflow.test_dag_run import STAGES, the_dag
from tests.spark.support.spark_evidence import event_log
from tests.support.secret_search import Hunt

WRONG = "wr0ng m@rker/geheim"


def states(name: str) -> dict[str, str]:
    dag = the_dag(name)
    for task in dag.tasks:
        task.retries = 0
    run = dag.test()
    return {ti.task_id: str(ti.state) for ti in run.get_task_instances()}


def test_passwords_stay_out_of_airflow(
    databases: Any,
    tmp_path: Path,
    channels_folder: Path,
    airflow_database: None,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """A run that works (with Spark), then a wrong password, a server that is away and a target that refuses rows."""
    password = databases.server.password
    good, other = databases.source, databases.target
    monkeypatch.setenv("AIRFLOW_CONN_SECRET_SOURCE", good)
    monkeypatch.setenv("AIRFLOW_CONN_SECRET_TARGET", other)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    events = event_log(tmp_path / "events")
    defaults = tmp_path / "conf" / "spark-defaults.conf"
    defaults.parent.mkdir()
    defaults.write_text("".join(f"{name} {value}\n" for name, value in events.items()))
    monkeypatch.setenv("SPARK_CONF_DIR", str(defaults.parent))
    channel = shop.write_channel(channels_folder, tmp_path, "secret", "secret_source", "secret_target")
    try:
        shop.run_sql(good, shop.BEFORE)
        shop.activate(channel)
        with Hunt(password, WRONG) as hunt:
            many = "INSERT INTO orders (id) SELECT -i FROM generate_series(1, 60000) i"
            shop.run_sql(good, [*shop.CHANGES, many])
            assert set(states("ddlrepl__secret__replicate").values()) == {"success"}
            shop.run_sql(good, ["INSERT INTO orders (id) VALUES (100)"])
            wrong = good.replace(password, quote(WRONG, safe=""))
            for variable, location in (
                ("AIRFLOW_CONN_SECRET_SOURCE", wrong),
                ("AIRFLOW_CONN_SECRET_TARGET", other.replace(f":{databases.server.port}/", ":1/")),
            ):
                with monkeypatch.context() as patched:
                    patched.setenv(variable, location)
                    assert "failed" in states("ddlrepl__secret__replicate").values()
            shop.run_sql(other, ["ALTER TABLE orders ADD CONSTRAINT never CHECK (id < 100)"])
            last = states("ddlrepl__secret__replicate")
            assert set(last) == {*STAGES, "end"} and "failed" in last.values()
        said = capfd.readouterr()
        assert "CON-102" in said.out + said.err
        assert not hunt.is_in(said.out + said.err)
        assert list((tmp_path / "events").iterdir()), "Spark has written what its apps did"
        assert hunt.files(Path(os.environ["AIRFLOW_HOME"]), tmp_path) == []
        assert hunt.shown == set() and hunt.looks > 20
    finally:
        channel.unlink()
