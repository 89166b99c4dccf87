"""A target that refuses rows of a table, and what a cycle says then."""

from __future__ import annotations

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Replica

START = (
    "CREATE TABLE bad (id int PRIMARY KEY, v int)",
    "CREATE TABLE good (id int PRIMARY KEY, v int)",
    "INSERT INTO bad VALUES (1, 1), (2, 2)",
    "INSERT INTO good VALUES (1, 1)",
)
REFUSE = "ALTER TABLE bad ADD CONSTRAINT small CHECK (v < 100)"
ACCEPT = "ALTER TABLE bad DROP CONSTRAINT small"
ACCEPT_ALL = """DO $$ DECLARE one record; BEGIN
    FOR one IN SELECT conrelid::regclass AS name FROM pg_constraint WHERE conname = 'small' LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT small', one.name);
    END LOOP;
END $$"""


def cycle_fails(replica: Replica) -> DdlReplError:
    with pytest.raises(DdlReplError) as caught:
        replica.replicate()
    return caught.value


def states(replica: Replica) -> dict[str, str]:
    with flow.open_channel(replica.file, InProcess()) as run:
        found = flow.status(run).to_json()["targets"]["warehouse"]["tables"]
    return {table["table"].removeprefix("public."): table["state"] for table in found}
