"""What stops a channel fails its task in Airflow, with the reason: a task that is skipped would be no failed run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from airflow_ddlrepl.operators.adapt_ddl import AdaptDDLOperator
from airflow_ddlrepl.operators.base import DdlReplSparkOperator
from airflow_ddlrepl.operators.capture import CaptureOperator
from airflow_ddlrepl.operators.cutover import CutOverOperator
from airflow_ddlrepl.operators.integrate import IntegrateOperator
from airflow_ddlrepl.operators.refresh import RefreshOperator
from tests.airflow.support import shop
from tests.airflow.test_by_hand import in_process, run
from tests.airflow.test_controls import BREAKS, CHANGE, Task

__all__ = ["in_process"]
STAGES: dict[str, type[DdlReplSparkOperator]] = {
    "capture": CaptureOperator,
    "adapt": AdaptDDLOperator,
    "refresh": RefreshOperator,
    "integrate": IntegrateOperator,
}
ROW = "INSERT INTO orders VALUES (51, 'refused')"
HVR = """defaults: hvr
source:
  adapt_ddl:
    - add_table_pattern: "*"
      on_drop_table: DROP_FROM_CHANNEL_ONLY
"""


def activated(databases: Any, folder: Path, **replaced: str) -> Path:
    """A channel with one table; replaced: parts of its file, by the first word of the line that they stand for."""
    file = shop.write_channel(folder, folder, "shop", databases.source, databases.target)
    text = file.read_text()
    for word, more in replaced.items():
        assert f"{word}:" in text
        text = text.replace(f"{word}:", more, 1)
    file.write_text(text)
    shop.run_sql(databases.source, shop.BEFORE)
    shop.activate(file)
    return file


def states(file: Path) -> dict[str, str]:
    """How each stage of a cycle ends: success, skipped, or the code of the error that its task leaves for others."""
    ends = {}
    for stage, kind in STAGES.items():
        task = Task()
        try:
            kind(task_id=stage, channel=str(file)).execute({"run_id": "manual__1", "ti": task})
            ends[stage] = "success"
        except AirflowSkipException:
            ends[stage] = "skipped"
        except AirflowFailException as error:
            ends[stage] = task.pushed["ddlrepl_error"]["code"]
            assert ends[stage] in str(error)
    return ends


@pytest.mark.req("XR-08")
def test_a_channel_whose_capture_and_apply_are_stopped(in_process: None, databases: Any, tmp_path: Path) -> None:
    file = activated(databases, tmp_path)
    run(CutOverOperator, file, compare="True")
    shop.run_sql(databases.source, [ROW])
    assert states(file) == dict.fromkeys(STAGES, "CUT-101")


@pytest.mark.req("XR-08")
def test_a_breakpoint(in_process: None, databases: Any, tmp_path: Path) -> None:
    file = activated(databases, tmp_path, adapt_ddl=BREAKS.rstrip())
    shop.run_sql(databases.source, [CHANGE, ROW])
    ends = states(file)
    assert (ends["capture"], ends["integrate"]) == ("success", "CTL-101")


@pytest.mark.req("XR-08")
def test_a_row_that_the_target_refuses(in_process: None, databases: Any, tmp_path: Path) -> None:
    file = activated(databases, tmp_path)
    file.write_text(file.read_text().replace("- name: warehouse", "- name: warehouse\n    on_error: stop"))
    shop.run_sql(databases.target, ["ALTER TABLE orders ADD CHECK (id < 51)"])
    shop.run_sql(databases.source, [ROW])
    assert states(file)["integrate"] == "INT-105"


@pytest.mark.req("XR-08")
def test_the_drop_of_the_last_table(in_process: None, databases: Any, tmp_path: Path) -> None:
    file = activated(databases, tmp_path, source=HVR.rstrip())
    shop.run_sql(databases.source, ["DROP TABLE orders"])
    assert states(file)["capture"] == "SRC-182"
