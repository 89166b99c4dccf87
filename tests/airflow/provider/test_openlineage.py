"""OpenLineage is told which columns of a target come from which of the source, through renames and functions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pytest

from airflow_ddlrepl.operators.adapt_ddl import AdaptDDLOperator
from airflow_ddlrepl.operators.capture import CaptureOperator
from airflow_ddlrepl.operators.integrate import IntegrateOperator
from tests.conftest import Databases
from tests.support.replica import Replica, channel_file

pytest.importorskip("airflow.providers.openlineage", reason="the extra openlineage is not installed")

ROOT = Path(__file__).parents[3]
FUNCTION = "tests.airflow.provider.test_openlineage:masked"
MAPPING: dict[str, Any] = {
    "table_properties": [{"tables": "orders", "name": "purchases"}],
    "column_properties": [{"columns": "note", "name": "remark"}, {"columns": "secret", "absent": True}],
    "transform": [{"tables": "orders", "columns": "email", "function": FUNCTION, "reads": "country"}],
    "target_tables": [{"tables": "orders", "extra": {"total": "price * n", "at": "{commit_time}"}}],
}


def masked(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"email": ["***"] * batch.num_rows}, schema=pa.schema([("email", pa.string())]))


@pytest.fixture
def replica(databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Replica:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # where an app of another process finds the function
    file = channel_file(tmp_path, databases.source, databases.target, **MAPPING)
    found = Replica(databases.source, databases.target, file)
    found.at_source(
        "CREATE TABLE orders (id int PRIMARY KEY, note text, secret text, email text, country text,"
        " price numeric, n numeric, kind text)",
        "INSERT INTO orders VALUES (1)",
    )
    found.activate()
    found.at_source("ALTER TABLE orders RENAME kind TO sort", "INSERT INTO orders VALUES (2)")
    return found


def extracted(operator: Any) -> Any:
    """What Airflow's OpenLineage provider takes from an operator that has succeeded."""
    from airflow.providers.openlineage.extractors.manager import ExtractorManager
    from airflow.utils.state import TaskInstanceState

    run = type("Run", (), {"run_id": "by hand"})()
    return ExtractorManager().extract_metadata(run, operator, TaskInstanceState.SUCCESS, None)


def test_columns_through_renames_functions_and_expressions(replica: Replica, databases: Databases) -> None:
    for kind in (CaptureOperator, IntegrateOperator):
        operator = kind(task_id=kind.stage, channel=str(replica.file))
        operator.execute({"run_id": "by hand"})  # type: ignore[typeddict-item]
    found = extracted(operator)
    (source,), (target,) = found.inputs, found.outputs
    for one, url, name in ((source, databases.source, "orders"), (target, databases.target, "purchases")):
        parts = urlsplit(url)
        assert one.namespace == f"postgres://{parts.hostname}:{parts.port}"
        assert one.name == f"{parts.path[1:]}.public.{name}"
    names = [field.name for field in source.facets["schema"].fields]
    assert names == ["id", "note", "secret", "email", "country", "price", "n", "sort"]
    types = {field.name: field.type for field in target.facets["schema"].fields}
    assert types["id"] == "integer" and types["at"].startswith("timestamp") and "secret" not in types
    fields = target.facets["columnLineage"].fields
    told = {name: [one.field for one in field.inputFields] for name, field in fields.items()}
    assert told == {
        "id": ["id"],
        "remark": ["note"],
        "email": ["email", "country"],
        "country": ["country"],
        "price": ["price"],
        "n": ["n"],
        "sort": ["sort"],
        "total": ["price", "n"],
    }
    hows = {name: field.inputFields[0].transformations[0] for name, field in fields.items()}
    assert {name for name, how in hows.items() if how.subtype != "IDENTITY"} == {"email", "total"}
    assert FUNCTION in hows["email"].description
    for column in fields.values():
        assert {(one.namespace, one.name) for one in column.inputFields} == {(source.namespace, source.name)}
    assert databases.server.password not in json.dumps(str(found))


def test_a_stage_without_rows_tells_nothing(replica: Replica) -> None:
    operator = IntegrateOperator(task_id="integrate", channel=str(replica.file))
    operator.execute({"run_id": "by hand"})  # type: ignore[typeddict-item]
    assert extracted(operator) is None or not extracted(operator).outputs
    captured = CaptureOperator(task_id="capture", channel=str(replica.file))
    captured.execute({"run_id": "by hand"})  # type: ignore[typeddict-item]
    assert extracted(captured) is None or not extracted(captured).outputs


def test_a_table_that_is_suspended_or_left_is_no_output(replica: Replica) -> None:
    """Its rows are not the source's any more."""
    replica.at_source("CREATE TABLE other (id int PRIMARY KEY)", "INSERT INTO orders VALUES (3)")
    replica.replicate()
    replica.at_source("DROP TABLE other", "INSERT INTO orders VALUES (4)")
    for kind in (CaptureOperator, AdaptDDLOperator, IntegrateOperator):
        operator = kind(task_id=kind.stage, channel=str(replica.file))
        operator.execute({"run_id": "by hand"})  # type: ignore[typeddict-item]
    assert [one.name.rpartition(".")[2] for one in extracted(operator).outputs] == ["purchases"]
