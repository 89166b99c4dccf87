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
from airflow_ddlrepl.operators.streams.apply import ApplyOperator
from tests.airflow.support import shop
from tests.airflow.test_by_hand import in_process, run
from tests.airflow.test_controls import BREAKS, CHANGE, Task
from tests.flow.streams.streams_channel import APPLY as OF_APPLY
from tests.flow.streams.streams_channel import BATTERY_TABLES, streams_channel
from tests.flow.streams.streams_channel import CAPTURE as OF_CAPTURE
from tests.support.replica import run as run_sql

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
    return {stage: ended(kind, file) for stage, kind in STAGES.items()}


def ended(kind: type[DdlReplSparkOperator], file: Path) -> str:
    """How a stage ends: success, skipped, or the code of the error that its task leaves for others."""
    task = Task()
    try:
        kind(task_id="stage", channel=str(file)).execute({"run_id": "manual__1", "ti": task})
    except AirflowSkipException:
        return "skipped"
    except AirflowFailException as error:
        code = str(task.pushed["ddlrepl_error"]["code"])
        assert code in str(error)
        return code
    return "success"


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


CLASH = {"add_column": {"rule_name": "r", "table_name": "hr.t", "column_name": "k", "column_value": 1}}


@pytest.mark.req("XR-08")
def test_a_capture_process_that_its_rules_have_disabled(in_process: None, databases: Any, tmp_path: Path) -> None:
    """The column that is added is there: the change is not captured, and every later run fails, too."""
    of_t = {"add_table_rules": {"table_name": "hr.t", "dml_rule_name": "r", **OF_CAPTURE}}
    channel = streams_channel(tmp_path, databases.source, of_t, CLASH)
    channel.at_source(*BATTERY_TABLES)
    channel.activate()
    channel.at_source("INSERT INTO hr.t VALUES (1, 1)")
    for _ in range(2):
        assert ended(CaptureOperator, channel.file) == "RUL-122"
    assert channel.content("q1") == []


@pytest.mark.req("XR-08")
def test_an_apply_process_that_an_error_has_disabled(in_process: None, databases: Any, tmp_path: Path) -> None:
    target = {"name": "site", "location": databases.target, "apply": "app"}
    calls = ({"add_global_rules": OF_CAPTURE}, {"add_table_rules": {"table_name": "hr.t", **OF_APPLY}})
    channel = streams_channel(tmp_path, databases.source, *calls, targets=[target])
    channel.at_source(*BATTERY_TABLES)
    run_sql(databases.target, *BATTERY_TABLES)
    channel.activate()
    run_sql(databases.target, "INSERT INTO hr.t VALUES (1)")
    channel.at_source("INSERT INTO hr.t VALUES (1, 1)")
    assert ended(CaptureOperator, channel.file) == "success"
    assert [ended(ApplyOperator, channel.file) for _ in range(2)] == ["APL-110", "APL-111"]


@pytest.mark.req("XR-08")
def test_a_replicat_that_abends(in_process: None, databases: Any, tmp_path: Path) -> None:
    file = activated(databases, tmp_path)
    replicat = "- name: warehouse\n    replicat: {maps: [{source: 'public.*', target: 'public.*'}]}"
    file.write_text(file.read_text().replace("- name: warehouse", replicat))
    shop.activate(file)
    shop.run_sql(databases.target, ["ALTER TABLE orders ADD price int"])
    shop.run_sql(databases.source, ["ALTER TABLE orders ADD price int"])
    assert states(file)["adapt"] == "ADP-153"
