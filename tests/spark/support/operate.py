"""Run operators in a process of their own, as Airflow's task runner does.

python -m tests.spark.support.operate FILE STAGE…
"""

from __future__ import annotations

import json
import sys

from airflow_ddlrepl.operators.adapt_ddl import AdaptDDLOperator
from airflow_ddlrepl.operators.capture import CaptureOperator
from airflow_ddlrepl.operators.integrate import IntegrateOperator
from airflow_ddlrepl.operators.maintain import LakeMaintenanceOperator
from airflow_ddlrepl.operators.refresh import RefreshOperator

OPERATORS = {
    "capture": CaptureOperator,
    "adapt": AdaptDDLOperator,
    "refresh": RefreshOperator,
    "integrate": IntegrateOperator,
    "maintain": LakeMaintenanceOperator,
}

if __name__ == "__main__":
    file, *stages = sys.argv[1:]
    for stage in stages:
        operator = OPERATORS[stage](task_id=stage, channel=file, conn_id="spark_place")
        print("XCOM", json.dumps(operator.execute({"run_id": "by hand"})), flush=True)  # type: ignore[typeddict-item]
