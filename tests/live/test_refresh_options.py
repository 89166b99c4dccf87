"""HVR's refresh options: in bulk or row by row, told or not, with triggers, with some differences left as they are."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from tests.live.replica import Replica, channel_file

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


@pytest.fixture(autouse=True)
def _heard(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ddlrepl")


@pytest.mark.req("HVR-P-64", "HVR-P-65")
@pytest.mark.parametrize("databases", [18, 15], indirect=True)
def test_row_by_row_writes_only_what_differs(databases: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    replica = new_replica(databases, tmp_path, *ROWS)
    replica.at_target(SPOILT, COUNTED)
    stays = replica.rows("SELECT xmin::text, ctid::text, id FROM t WHERE id NOT IN (7, 8, 5000) ORDER BY id")
    before = oid(replica)
    assert replica.refresh("public.t", options="-gr -v").tables == {"public.t": 1000}
    replica.check_equal()
    assert oid(replica) == before
    assert replica.rows("SELECT * FROM written ORDER BY 1") == [("DELETE", 5000), ("INSERT", 7), ("UPDATE", 8)]
    assert replica.rows("SELECT xmin::text, ctid::text, id FROM t WHERE id NOT IN (7, 8) ORDER BY id") == stays
    assert told(caplog) == [
        'difference in public.t: DELETE FROM "public"."t" WHERE "id" = \'5000\'',
        'difference in public.t: UPDATE "public"."t" SET "v" = \'v8\' WHERE "id" = \'8\'',
        'difference in public.t: INSERT INTO "public"."t" ("id", "v") VALUES (\'7\', \'v7\')',
    ]
    assert "row by row: 1 deleted, 1 updated, 1 inserted" in told(caplog, "refreshed public.t: 1000 rows")[-1]
