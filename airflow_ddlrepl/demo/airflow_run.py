"""Run a private Airflow in this process: its SQLite database, a DAGs folder with the two-line file, `dag.test()`.

Call `airflow_database.isolate(folder)` first. What Airflow and Spark print goes to a log file, not to the terminal.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from airflow_ddlrepl.demo.output import to_log

DAG_FILE = """from airflow_ddlrepl import build_channel_dags

globals().update(build_channel_dags({channel!r}, retries=0))
"""


@dataclass(frozen=True)
class DagRunResult:
    """A DAG run's result is what each task returned (XCom), and how long it took, in seconds by task."""

    succeeded: bool
    returned: dict[str, Any]
    seconds: dict[str, float]
    failures: dict[str, Any] = field(default_factory=dict)


class PrivateAirflow:
    """This Airflow runs in this process, with the DAGs of one channel.

    folder: as passed to `isolate`. channel: the channel file that the DAGs are built from.
    """

    def __init__(self, folder: Path, channel: Path) -> None:
        self.log = folder / "airflow.log"
        self.dags = Path(os.environ["AIRFLOW_HOME"]) / "dags"
        self.dags.mkdir(exist_ok=True)
        (self.dags / "channels.py").write_text(DAG_FILE.format(channel=str(channel)))
        self._dags: dict[str, Any] = {}

    def prepare(self) -> None:
        """Create Airflow's database and read the DAG file, as its scheduler would."""
        with to_log(self.log):
            from airflow.dag_processing.dagbag import DagBag
            from airflow.utils.db import initdb

            initdb()
            bag = DagBag(dag_folder=str(self.dags))
        if bag.import_errors:
            raise RuntimeError("\n".join(bag.import_errors.values()))
        self._dags = dict(bag.dags)

    def run(self, **conf: Any) -> DagRunResult:
        """Run all tasks of the channel's replicate DAG once, in this process."""
        dag = next(dag for name, dag in self._dags.items() if name.endswith("replicate"))
        started = time.monotonic()
        with to_log(self.log):
            run = dag.test(run_conf=conf or None)
            result = _result(run)
        return DagRunResult(
            result.succeeded,
            result.returned,
            {**result.seconds, "dag": round(time.monotonic() - started, 2)},
            result.failures,
        )


def _result(run: Any) -> DagRunResult:
    from airflow.models.xcom import XComModel
    from airflow.settings import Session

    with Session() as session:
        entries = session.scalars(XComModel.get_many(run_id=run.run_id, dag_ids=run.dag_id)).all()
        found = {(e.key, e.task_id): XComModel.deserialize_value(e) for e in entries}
    instances = run.get_task_instances()
    return DagRunResult(
        str(run.state) == "success",
        {task: value for (key, task), value in found.items() if key == "return_value"},
        {i.task_id: round(i.duration or 0.0, 2) for i in instances},
        {task: value for (key, task), value in found.items() if key == "ddlrepl_error"},
    )
