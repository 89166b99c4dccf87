"""What HVR does not capture of PostgreSQL stands in the log: CREATE, DROP and ALTER, each with the catalog's shape."""

from __future__ import annotations

import pytest

from airflow_ddlrepl.config.sections.scope import Joining, Scope
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.source.source import PostgresSource
from tests.conftest import Databases
from tests.support.source_log import run

pytestmark = pytest.mark.parametrize("databases", [18, 15], indirect=True)
DYNAMIC = "DO $$ BEGIN EXECUTE replace('ALTER_TABLE_t_ADD_m_int', '_', ' '); END $$"


@pytest.mark.parametrize(
    ("statement", "columns"),
    [
        pytest.param("CREATE TABLE u (id int)", [("id", "int4")], marks=pytest.mark.req("HVR-D-08")),
        pytest.param("DROP TABLE t", [], marks=pytest.mark.req("HVR-D-11")),
        pytest.param("ALTER TABLE t ALTER v TYPE varchar(12)", [("v", "varchar")], marks=pytest.mark.req("HVR-D-41")),
        pytest.param("ALTER TABLE t ALTER v TYPE int USING 1", [("v", "int4")], marks=pytest.mark.req("HVR-D-49")),
        pytest.param(DYNAMIC, [("v", "varchar"), ("m", "int4")], marks=pytest.mark.req("HVR-O-12")),
    ],
)
def test_a_statement_stands_in_the_log_with_the_shape_that_the_catalog_has(
    databases: Databases, statement: str, columns: list[tuple[str, str]]
) -> None:
    """The shape is never read out of the statement's text: it may be computed when it runs."""
    scope = Scope(("*.*",), joining=(Joining("*"),))
    slot = f"s_{databases.source[-8:]}"
    source = PostgresSource(databases.source, channel="shop", publication="p", slot=slot, scope=scope)
    with source, connect(databases.source) as user:
        user.execute("CREATE TABLE t (v varchar(5))")
        source.activate()
        said = run(source, user, statement)
    assert said.one["query"] == statement
    assert [(c.name, c.type.name) for table in said.tables().values() for c in table.columns] == columns
    assert [name for _, (_, name) in said.one["dropped"]] == ([] if columns else ["t"])
