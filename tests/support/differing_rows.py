"""Targets that were spoilt by hand, with a trigger that counts what a refresh writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.replica import Replica, channel_file

COUNTED = """
CREATE TABLE written (what text, who int);
CREATE FUNCTION count_it() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO public.written VALUES (tg_op, coalesce(new.id, old.id)); RETURN coalesce(new, old); END $$;
CREATE TRIGGER counts AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION count_it();
ALTER TABLE t ENABLE ALWAYS TRIGGER counts;
"""
ROWS = (
    "CREATE TABLE t (id int PRIMARY KEY, v text)",
    "INSERT INTO t SELECT i, 'v' || i FROM generate_series(1, 1000) i",
)
SPOILT = (
    "SET session_replication_role = replica; ALTER TABLE t DISABLE TRIGGER ALL;"
    " DELETE FROM t WHERE id = 7; UPDATE t SET v = NULL WHERE id = 8; INSERT INTO t VALUES (5000, 'extra');"
    " ALTER TABLE t ENABLE TRIGGER ALL"
)


def new_replica(databases: Any, folder: Path, *statements: str, options: str | None = None, **more: Any) -> Replica:
    action: dict[str, Any] = {"add_table_pattern": "*", **({"refresh_options": options} if options is not None else {})}
    file = channel_file(folder, databases.source, databases.target, adapt_ddl=[{**action, **more}])
    replica = Replica(databases.source, databases.target, file)
    replica.at_source(*statements)
    replica.activate()
    return replica


def oid(replica: Replica) -> Any:
    return replica.rows("SELECT 't'::regclass::oid")


def told(caplog: pytest.LogCaptureFixture, start: str = "difference in") -> list[str]:
    return [text for record in caplog.records if (text := record.getMessage()).startswith(start)]
