"""A long text, which anybody may write, takes as long as it is long: it holds nobody up."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.flow.apply.transaction import STATEMENT_LENGTH
from tests.conftest import Databases
from tests.support.replica import Replica, channel_file

LONG = 2_000_000


@pytest.mark.parametrize("unit", ["z", "https://", "a:", "a://b", "a://b:", "password='", "@", "a "])
def test_passwords_are_looked_for_once(unit: str) -> None:
    """Looking at the rest of the text for each letter of it takes hours."""
    assert "hidden" not in redact(unit * (LONG // len(unit)) + " postgresql://a:hidden@h password='hidden'")


def test_a_table_with_long_defaults_arrives(
    databases: Databases, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its statement has four million characters; logs and results show the beginning."""
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.begin()
    columns = ", ".join(f"c{number} text DEFAULT '{'z' * 20_000}'" for number in range(200))
    replica.at_source(f"CREATE TABLE long (id int PRIMARY KEY, {columns})", "INSERT INTO long (id, c0) VALUES (1, 'a')")
    with caplog.at_level(logging.INFO, "ddlrepl"):
        result = replica.settle()
    assert replica.rows("SELECT id, c0, length(c199) FROM long") == [(1, "a", 20_000)]
    assert any(one.sql.startswith('CREATE TABLE "public"."long"') for one in result.adapt.executed)
    assert max(len(one.sql) for one in result.adapt.executed) == STATEMENT_LENGTH
    assert max(len(record.getMessage()) for record in caplog.records) < 2 * STATEMENT_LENGTH
