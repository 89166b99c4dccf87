"""Changes that no ALTER can carry are refused by name: nothing is guessed."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_ddlrepl.adapt.plan.new_table import reshape
from airflow_ddlrepl.adapt.plan.verdicts import Case, verdicts_on
from airflow_ddlrepl.adapt.policy import Policy
from airflow_ddlrepl.adapt.shape.alter_in_place import relayout
from airflow_ddlrepl.adapt.target_facts import TargetFacts, TargetServer
from airflow_ddlrepl.ddl.opaque import Opaque
from airflow_ddlrepl.ddl.sql.statement import Evidence
from airflow_ddlrepl.ddl.tables.change_partition_key import ChangePartitionKey
from airflow_ddlrepl.engines.postgres.ddl.render import PostgresDdl
from airflow_ddlrepl.engines.postgres.types.type_system import POSTGRES_TYPES
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import DataType

INT4 = DataType("integer", "pg_catalog", "int4", id=23)
PLAIN = Table(1, TableName("public", "t"), (Column(1, "id", INT4),))
CASE = Case(PLAIN, PLAIN, Evidence(), Policy(), TargetFacts(TargetServer(POSTGRES_TYPES)))
PARTITIONED = PLAIN.with_(partition_key="RANGE (id)")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (Opaque(("tablespace",), PLAIN), "ADP-101"),
        (ChangePartitionKey(None, "RANGE (id)"), "ADP-102"),
    ],
)
def test_what_no_server_can_alter_is_refused(change: Any, code: str) -> None:
    (verdict,) = verdicts_on(change, CASE)
    assert verdict.code == code and change.describe() in verdict.why and "ddlrepl refresh" in verdict.hint


def test_a_kind_without_a_row_is_refused() -> None:
    class Unknown(Opaque):
        kind = "unknown"

    with pytest.raises(Unsupported, match=r"ADP-100.*unknown"):
        list(verdicts_on(Unknown((), PLAIN), CASE))


def test_a_table_that_is_partitioned_in_another_way_takes_no_alter() -> None:
    with pytest.raises(Unsupported, match="ADP-107"):
        reshape(PLAIN, PARTITIONED, PostgresDdl(), POSTGRES_TYPES)
    with pytest.raises(Unsupported, match="ADP-107"):
        relayout(PARTITIONED, PARTITIONED, PLAIN, PostgresDdl(), POSTGRES_TYPES)
