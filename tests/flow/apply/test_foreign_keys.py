"""A target's own foreign keys, under a role that can't let them rest, and under one that can."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.engines.postgres.connection.connect import parameters
from airflow_ddlrepl.errors import TargetError
from tests.support.replica import Replica, channel_file, run

TABLES = (
    "create table parent (id int primary key)",
    "create table child (id int primary key, p int references parent)",
    "insert into parent values (1), (2)",
    "insert into child values (1, 1), (2, 2)",
)


@pytest.fixture(params=["owner", "superuser"])
def replica(request: pytest.FixtureRequest, databases: Any, tmp_path: Path) -> Iterator[Replica]:
    """Activated; the child refers to the parent at the target, too."""
    here, role = databases.target, f"plain_{databases.source[-8:]}"
    if request.param == "owner":
        databases.server.create_role(role)
        name = parameters(here)["dbname"]
        run(here, f"grant create on schema public to {role}", f"grant create on database {name} to {role}")
        here = databases.server.dsn(name, role)
    made = Replica(databases.source, here, channel_file(tmp_path, databases.source, here))
    made.at_source(*TABLES)
    made.activate()
    made.at_target("alter table child add foreign key (p) references parent")
    yield made
    if request.param == "owner":
        run(databases.target, f"drop owned by {role} cascade", f"drop role {role}")


@pytest.mark.parametrize(
    "which", ["parent, child", "child, parent", "parent cascade", "parent, child restart identity"]
)
def test_tables_truncated_together(replica: Replica, which: str) -> None:
    replica.at_source(f"truncate {which}", "insert into parent values (5)", "insert into child values (5, 5)")
    replica.settle()


def test_a_table_of_the_target_that_refers_to_a_truncated_one(replica: Replica) -> None:
    replica.at_target("create table mine (p int references parent)")
    replica.at_source("truncate parent, child")
    replica.settle()
    replica.at_source("insert into parent values (1)")
    replica.settle()
    replica.at_target("insert into mine values (1)")
    replica.at_source("truncate parent cascade")
    if "plain_" in replica.target:
        with pytest.raises(TargetError, match="INT-104"):
            replica.replicate()
        replica.at_target("delete from mine")
    replica.settle()


def test_rows_before_a_schema_change_need_those_of_another_table(replica: Replica) -> None:
    replica.at_source(
        "insert into parent values (5)",
        "insert into child values (5, 5)",
        "alter table child add x int default 3",
        "insert into parent values (6)",
        "insert into child values (6, 6)",
        "alter table child alter x type bigint",
        "insert into child values (7, 6)",
    )
    replica.settle()
    replica.at_source(
        "delete from child where id = 2", "delete from parent where id = 2", "alter table parent add x int default 3"
    )
    replica.settle()
