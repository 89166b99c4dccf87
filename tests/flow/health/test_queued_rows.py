"""Which rows wait in the error queues of targets is told with their keys and errors, and with no other values."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.errors import ApplyError
from airflow_ddlrepl.flow.health.channel import channel_health
from airflow_ddlrepl.flow.health.on_its_way import rows_in_error_queues
from airflow_ddlrepl.flow.reporting.queued_rows import error_text
from airflow_ddlrepl.repository.repository import Repository
from tests.flow.streams.test_activation import ALL, apply, begun
from tests.support.replica import Replica, run
from tests.support.restricting import active

TABLE = (
    "CREATE TABLE t (id int PRIMARY KEY, code text, note text)",
    "INSERT INTO t VALUES (1, '1', 'one'), (2, 'two', 'private')",
)
DISCARDS = {"tables": "t", "types": {"code": "int"}, "coerce_error_policy": "discard"}


def told(replica: Replica) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The health of the channel, and the rows of its table, as the pages have them."""
    with Repository.open(load_channel(replica.file).repository) as repository:
        (table,) = repository.tables("shop")
        rows = rows_in_error_queues(repository, "shop", table.table_id, ["public.t"])
        return channel_health(repository, "shop", datetime.now(UTC)), rows


def test_discarded_rows_are_listed_by_key_until_they_are_corrected(databases: Any, tmp_path: Path) -> None:
    replica = active(databases, tmp_path, TABLE, target_tables=[DISCARDS])
    replica.at_source("INSERT INTO t VALUES (3, 'three', 'private')")
    replica.settle()
    health, rows = told(replica)
    assert {tuple((k["column"], k["value"]) for k in one["key"]) for one in rows} == {(("id", "2"),), (("id", "3"),)}
    for one in rows:
        assert (one["target"], one["table"], one["code"]) == ("warehouse", "public.t", "INT-134")
        assert one["message"] == 'code: invalid input syntax for type integer: "…"'
        assert one["at"] and one["since"] and one["found"] and "correct it at the source" in one["hint"]
    (waiting,) = health["waiting"]
    assert (waiting["kind"], waiting["what"]) == (
        "discarded rows",
        "2 rows of public.t are discarded at target warehouse",
    )
    assert len(waiting["rows"]) == 2 and "errors list" in waiting["remedy"]["command"]
    assert "private" not in str((health, rows)) and "three" not in str((health, rows))
    assert [one["verdict"]["level"] for one in health["targets"]] == ["good"]
    replica.at_source("UPDATE t SET code = '2'")
    replica.settle()
    replica.at_source("ALTER TABLE t ADD w int")
    replica.settle()
    health, rows = told(replica)
    assert (rows, health["waiting"]) == ([], [])


def test_changes_that_lose_a_conflict_are_listed(databases: Any, tmp_path: Path) -> None:
    replica = active(databases, tmp_path, TABLE, conflicts=[{"update_row_exists": "discard"}])
    replica.at_target("UPDATE t SET note = 'here' WHERE id = 2")
    replica.at_source("UPDATE t SET note = 'xyzzy' WHERE id = 2")
    replica.replicate()
    _, (row,) = told(replica)
    assert (row["kind"], row["what"], row["code"]) == ("conflict", "change", "INT-153")
    assert row["key"] == [{"column": "id", "value": "2"}] and "update_row_exists" in row["message"]
    assert "xyzzy" not in str(row) and "here" not in row["message"]


def test_rows_of_a_transaction_in_an_error_queue_are_listed(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, ALL, apply("q1"))
    run(databases.target, "INSERT INTO hr.t VALUES (3, 9)")
    channel.at_source("INSERT INTO hr.t VALUES (2, 22222), (3, 33333)")
    with pytest.raises(ApplyError):
        channel.stage(flow.replicate)

    def look(of: flow.RunContext) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        (table,) = (one for one in of.repository.tables(of.channel.name) if str(one.name) == "hr.t")
        rows = rows_in_error_queues(of.repository, of.channel.name, table.table_id, ["hr.t"])
        return channel_health(of.repository, of.channel.name, datetime.now(UTC)), rows

    health, rows = channel.stage(look)
    assert [[part["value"] for part in one["key"]] for one in rows] == [["2"], ["3"]]
    first, second = rows
    assert first["message"].startswith("it waits with its transaction")
    assert "duplicate key" in second["message"] and (second["what"], second["code"]) == ("insert", "23505")
    assert second["id"].startswith("site/") and "errors show" in second["hint"] and second["since"] and second["at"]
    (waiting,) = (one for one in health["waiting"] if one["kind"] == "error queue")
    assert [one["key"] for one in waiting["rows"]] == [one["key"] for one in rows]
    assert "22222" not in str((health["waiting"], rows)) and "33333" not in str((health["waiting"], rows))
    channel.stage(lambda of: flow.delete_error(of, first["id"]))
    health, rows = channel.stage(look)
    assert rows == [] and [one for one in health["waiting"] if one["kind"] == "error queue"] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('invalid input syntax for type integer: "secret"', 'invalid input syntax for type integer: "…"'),
        ("Key (id)=(7) already exists.", "Key (id)=(7) already exists."),
        ("Key (email)=(secret) already exists.", "Key (email)=(…) already exists."),
        ('Key (id, note)=(7, secret) is not present in table "t".', 'Key (id, note)=(…) is not present in table "t".'),
        ("no (Failing row contains (7, secret, x).)", "no (Failing row contains (…)"),
        ("a trigger says secret, it is 7", "a trigger says …, it is 7"),
        (f"left: {'long ' * 30}", "left: …"),
        ("<script>secret</script>", "<script>…</script>"),
        ("postgresql://ann:hunter2@host/db", "postgresql://ann:***@host/db"),
    ],
)
def test_an_error_is_told_without_values(text: str, expected: str) -> None:
    assert error_text(text, {"id": "7"}, ["secret", "7", None, "", "long " * 40]) == expected
