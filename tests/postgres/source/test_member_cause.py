"""Why a table is not in the stream is a value, also where an earlier version has installed the helper schema."""

from __future__ import annotations

import pytest

from airflow_ddlrepl.config.sections.policies import DdlCapture
from airflow_ddlrepl.config.sections.scope import Scope
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.source import helper_schema, membership
from airflow_ddlrepl.engines.postgres.source.left_out import left_out
from airflow_ddlrepl.engines.postgres.source.member_cause import LATE, UNLOGGED, Cause
from tests.conftest import Databases

GENERATED = "it has a generated column and no key without one: under REPLICA IDENTITY FULL the server would refuse it"
OUT = [(GENERATED, Cause.GENERATED), (UNLOGGED, Cause.UNLOGGED), ("canceled (55P03)", Cause.LOCK)]


@pytest.mark.parametrize("version", ["now", "upgraded", "earlier"])
def test_a_cause_is_known_whichever_version_wrote_it(databases: Databases, version: str) -> None:
    with connect(databases.source) as connection:
        helper_schema.install(connection, DdlCapture.RELATIONS)
        for number, (reason, cause) in enumerate([*OUT, (LATE, Cause.LATE)]):
            state = "published" if cause is Cause.LATE else "left out"
            connection.execute(
                "INSERT INTO ddlrepl.member (channel, table_id, schema_name, table_name, state, reason, cause)"
                " VALUES ('shop', %s, 's', %s, %s, %s, %s)",
                [number, f"t{number}", state, reason, cause.value if version == "now" else None],
            )
        if version == "earlier":
            connection.execute("DROP FUNCTION ddlrepl.cause_of")
            connection.execute("ALTER TABLE ddlrepl.member DROP COLUMN cause")
        found = [one for one in left_out(connection, "shop", Scope()) if one.table_id < len(OUT)]
        assert [one.is_reloaded for one in found] == [True, False, False]
        assert [membership.is_held(connection, "shop", i) for i in range(4)] == [False, False, True, False]
        assert membership.late(connection, "shop") == {3}
        membership.forget_late(connection, "shop", [0, 1, 2, 3])
        assert membership.late(connection, "shop") == set()
        assert len(left_out(connection, "shop", Scope())) >= len(OUT)
