"""What stands in a shape goes into a target's SQL as one text of its kind, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl.ddl.columns.add_column import AddColumn
from airflow_ddlrepl.ddl.columns.change_default import ChangeDefault
from airflow_ddlrepl.ddl.columns.change_generated import ChangeGenerated
from airflow_ddlrepl.ddl.tables.attach_partition import AttachPartition
from airflow_ddlrepl.ddl.tables.create_table import CreateTable
from airflow_ddlrepl.ddl.types.create_type import CreateType
from airflow_ddlrepl.engines.postgres.ddl.render import PostgresDdl
from airflow_ddlrepl.errors import DdlReplError, Unsupported
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Key, Partition, Table
from airflow_ddlrepl.model.types import Attribute, DataType, TypeDefinition, TypeKind
from tests.conftest import Databases
from tests.support.replica import BOTH, Replica, channel_file

INT = DataType("integer", "pg_catalog", "int4")
EVIL = "0; DO $$ begin raise 'x'; end $$; --"
ID = Column(1, "id", INT, nullable=False)
T = Table(7, TableName("public", "t"), (ID,))
BAD = DataType(f"integer {EVIL}", "pg_catalog", "int4")


def of(**more: object) -> CreateType:
    return CreateType(TypeDefinition(9, "public", "d", **{"kind": TypeKind.DOMAIN, "base": "text", **more}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        CreateTable(T.with_(columns=(Column(1, "id", BAD),))),
        CreateTable(T.with_(columns=(Column(1, "id", INT, default=EVIL),))),
        CreateTable(T.with_(columns=(Column(1, "id", INT, default=f"1) STORED, x int {EVIL}", generated="stored"),))),
        CreateTable(T.with_(columns=(Column(1, "id", INT, default="1", generated="stored; drop"),))),
        CreateTable(T.with_(columns=(Column(1, "id", INT, identity=f"always AS IDENTITY {EVIL}"),))),
        CreateTable(T.with_(columns=(Column(1, "id", INT, collation=f'"C" {EVIL}'),))),
        CreateTable(T.with_(partition_key=f"RANGE (id) {EVIL}")),
        CreateTable(T.with_(key=Key((1,), "k", True, deferrable=f"deferred {EVIL}"))),
        CreateTable(T.with_(partition=Partition(8, TableName("public", "p"), f"DEFAULT {EVIL}"))),
        AttachPartition(Partition(8, TableName("public", "p"), f"FOR VALUES IN (1) {EVIL}")),
        AddColumn(Column(2, "a", INT, default=EVIL)),
        AddColumn(Column(2, "a", BAD, missing="1")),
        ChangeDefault(1, "id", None, EVIL),
        ChangeGenerated(1, "id", ID, "stored", f"1) {EVIL}"),
        of(base=f"text {EVIL}"),
        of(default=EVIL),
        of(constraints=(("c", f"CHECK (true) {EVIL}"),)),
        of(collation=f'"C" {EVIL}'),
        of(kind=TypeKind.COMPOSITE, attributes=(Attribute(1, "a", f"text {EVIL}"),)),
        of(kind=TypeKind.RANGE, base=f"text) {EVIL}"),
    ],
    ids=str,
)
def test_a_text_that_is_more_than_one_is_refused(change: object) -> None:
    with pytest.raises(Unsupported, match="ADP-190"):
        PostgresDdl().sql(change, T)  # type: ignore[arg-type]


@BOTH
def test_a_partition_key_calls_no_function_of_a_stranger(databases: Databases, tmp_path: Path) -> None:
    """What the target's role or a superuser owns was made to be called; another's would run with that role's rights."""
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    mine = "create function public.mine(int) returns int language {} immutable as '{}'"
    replica.at_target(
        "create sequence public.called",
        mine.format("plpgsql", "begin perform nextval(''public.called''); return 1; end"),
        "alter function public.mine(int) owner to pg_monitor",
    )
    replica.at_source(
        mine.format("sql", "select $1 % 10"),
        "create table public.p (id int) partition by list (public.mine(id))",
        "create table public.p1 partition of public.p for values in (1)",
        "create table public.other (id int primary key)",
        "insert into public.p values (1)",
        "insert into public.other values (1)",
    )
    with pytest.raises(DdlReplError, match="ADP-191"):
        replica.begin()
    replica.at_source(
        "insert into public.other values (2)", "create table public.q (id int) partition by list (public.mine(id))"
    )
    with pytest.raises(DdlReplError, match="ADP-191"):
        replica.replicate()
    assert replica.rows("select id from public.other order by id") == [(1,), (2,)]
    assert replica.rows("select is_called from public.called") == [(False,)]
    replica.at_target("drop function public.mine(int)", mine.format("sql", "select $1 % 10"))
    replica.settle()
