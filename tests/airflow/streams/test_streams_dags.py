"""The DAG of a channel with clients of Streams: each propagation is a task, behind those that fill its queue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_ddlrepl import build_channel_dags
from airflow_ddlrepl.operators.streams.propagate import PropagateOperator


def propagation(name: str, source: str, destination: str) -> dict[str, Any]:
    queues = {"source_queue_name": source, "destination_queue_name": destination}
    return {"add_global_propagation_rules": {"streams_name": name, "source_database": "dbs1", **queues}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    data = {
        "channel": "hr",
        "source": {"location": "postgresql://app:s3cret@localhost/hr", "tables": ["hr.*"]},
        "streams": {
            "calls": [
                {"add_global_rules": {"streams_type": "capture", "streams_name": "cap", "queue_name": "q1"}},
                propagation("first", "q1", "q2"),
                propagation("se$cond", "q2", "q3"),
                propagation("third", "q1", "q4"),
                {"add_table_rules": {"table_name": "hr.t", "streams_type": "sync_capture", "streams_name": "sync"}},
                {"add_table_rules": {"table_name": "hr.t", "streams_type": "apply", "streams_name": "app"}},
            ],
            "targets": [{"name": "site", "location": "postgresql://app@localhost/site", "apply": "app"}],
        },
    }
    path = tmp_path / "hr.yml"
    path.write_text(yaml.safe_dump(data))
    return path


def test_propagations_are_tasks_in_the_order_of_their_queues(file: Path) -> None:
    built = build_channel_dags(file)
    assert set(built) == {"ddlrepl__hr__enroll", "ddlrepl__hr__replicate"}
    dag = built["ddlrepl__hr__replicate"]
    before = {task.task_id: task.upstream_task_ids for task in dag.tasks}
    assert before == {
        "capture": set(),
        "propagate.first": {"capture", "sync_capture"},
        "propagate.se_cond": {"capture", "sync_capture", "propagate.first"},
        "propagate.third": {"capture", "sync_capture"},
        "sync_capture": set(),
        "apply.site": {"capture", "sync_capture", "propagate.first", "propagate.se_cond", "propagate.third"},
        "end": {"capture", "sync_capture", "propagate.first", "propagate.se_cond", "propagate.third", "apply.site"},
    }
    task = dag.get_task("propagate.se_cond")
    assert isinstance(task, PropagateOperator) and task.propagation == "se$cond"
    assert task.arguments() == ["--propagation=se$cond"]
    assert "s3cret" not in str(dag.doc_md)
