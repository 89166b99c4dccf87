"""What options of TABLE and MAP in GoldenGate's parameters do with the rows of a channel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from airflow_ddlrepl.demo.servers import PrivateServer
from tests.support.replica import Replica, lasting, may_differ

START = (
    "CREATE SCHEMA crm",
    "CREATE TABLE crm.account (id int PRIMARY KEY, region text, amount int, secret text)",
    "CREATE TABLE crm.archive (id int PRIMARY KEY, v int)",
    "CREATE TABLE crm.event (id int PRIMARY KEY, level int)",
    "CREATE TABLE crm.person (number int PRIMARY KEY, mail text NOT NULL, note text)",
    "CREATE TABLE crm.tmp_kept (id int PRIMARY KEY)",
    "CREATE TABLE crm.tmp_gone (id int PRIMARY KEY)",
    "INSERT INTO crm.account VALUES (1, 'EU', 10, 's'), (2, 'US', 20, 's')",
    "INSERT INTO crm.archive VALUES (1, 1)",
    "INSERT INTO crm.event VALUES (1, 1)",
    "INSERT INTO crm.person VALUES (1, 'a@b', 'n')",
)
EXTRACT: dict[str, Any] = {
    "ddl": {},
    "tables": [{"table": "crm.account", "cols_except": ["secret"], "condition": "region = 'EU'"}, "crm.*"],
}
MAPS: list[dict[str, Any]] = [
    {
        "source": "crm.account",
        "target": "dw.account",
        "condition": "amount > 5",
        "colmap": {"use_defaults": True, "columns": {"account_id": "id", "kind": "'crm'", "twice": "amount * 2"}},
    },
    {"source": "crm.archive", "target": "dw.archive", "ignore": ["delete", "truncate"]},
    {
        "source": "crm.event",
        "target": "dw.event",
        "insert_all_records": True,
        "ignore": ["update"],
        "colmap": {"columns": {"id": "id", "level": "level", "op": "{operation}"}},
    },
    {
        "source": "crm.person",
        "target": "dw.person",
        "keycols": ["address"],
        "colmap": {"columns": {"address": "mail", "note": "note"}},
    },
    {"source": "crm.tmp_kept", "target": "dw.tmp_kept"},
    {"source": "crm.*", "target": "dw.*"},
]
REPLICAT = {"maps": MAPS, "exclude": ["crm.tmp*"], "exclude_wildcard_objects_only": True}


@pytest.fixture(scope="module")
def channel(pg18: PrivateServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replica]:
    """One channel whose tables have options of their own each."""
    target = {"name": "warehouse", "location": pg18.dsn("mapped_rows_target"), "replicat": REPLICAT}
    sections = {"source": {"extract": EXTRACT}, "adapt_ddl": [], "targets": [target]}
    with lasting(pg18, tmp_path_factory.mktemp("mapped_rows"), "mapped_rows", START, **sections) as found:
        yield found


def test_a_load_has_the_rows_and_columns_of_the_options(channel: Replica) -> None:
    assert channel.rows("SELECT * FROM dw.account") == [(1, "EU", 10, "crm", 20)]
    assert channel.rows("SELECT address, note FROM dw.person") == [("a@b", "n")]
    found = channel.rows("SELECT table_name FROM information_schema.tables WHERE table_schema = 'dw' ORDER BY 1")
    assert [name for (name,) in found] == ["account", "archive", "event", "person", "tmp_kept"]


def test_conditions_of_both_sides_have_to_hold(channel: Replica) -> None:
    channel.at_source(
        "INSERT INTO crm.account VALUES (3, 'EU', 3, 's'), (4, 'US', 30, 's'), (5, 'EU', 50, 's')",
        "UPDATE crm.account SET region = 'EU' WHERE id = 2",
        "UPDATE crm.account SET amount = 1 WHERE id = 1",
    )
    channel.replicate()
    assert channel.rows("SELECT account_id, twice FROM dw.account ORDER BY 1") == [(2, 40), (5, 100)]
    channel.check_equal()


def test_ignored_deletes_and_truncates_leave_rows_that_an_insert_replaces(channel: Replica) -> None:
    channel.at_source("INSERT INTO crm.archive VALUES (2, 2), (3, 3)", "DELETE FROM crm.archive WHERE id = 2")
    told = channel.replicate().discarded
    channel.at_source("TRUNCATE crm.archive", "INSERT INTO crm.archive VALUES (2, 7)")
    told = {**told, **channel.replicate().discarded}
    assert channel.rows("SELECT * FROM dw.archive ORDER BY 1") == [(1, 1), (2, 7), (3, 3)]
    assert told == {
        "crm.archive: its settings ignore DELETE": 1,
        "crm.archive: its settings ignore TRUNCATE": 1,
    }
    found = [why.partition(": ")[2] for why in may_differ(channel)]
    assert found == ["its settings ignore DELETE", "its settings ignore TRUNCATE"]


def test_all_records_are_rows_but_those_that_are_ignored(channel: Replica) -> None:
    channel.at_source(
        "INSERT INTO crm.event VALUES (2, 2)",
        "UPDATE crm.event SET level = 3 WHERE id = 2",
        "DELETE FROM crm.event WHERE id = 2",
    )
    channel.replicate()
    query = "SELECT id, level, op FROM dw.event ORDER BY op_position, op_sequence"
    assert channel.rows(query) == [(1, 1, "refresh"), (2, 2, "insert"), (2, 3, "delete")]


def test_rows_are_found_by_the_columns_of_keycols(channel: Replica) -> None:
    channel.at_source(
        "INSERT INTO crm.person VALUES (2, 'c@d', 'm')", "UPDATE crm.person SET note = 'x', number = number + 7"
    )
    channel.at_source("DELETE FROM crm.person WHERE mail = 'a@b'")
    channel.replicate()
    assert channel.rows("SELECT * FROM dw.person") == [("c@d", "x")]


def test_a_table_is_not_loaded_again_when_other_changes_are_ignored(channel: Replica) -> None:
    text = channel.file.read_text()
    channel.at_source("INSERT INTO crm.tmp_kept VALUES (1)")
    channel.replicate()
    channel.at_target("INSERT INTO dw.tmp_kept VALUES (7)")
    kept = "source: crm.tmp_kept\n"
    assert kept in text
    channel.file.write_text(text.replace(kept, f"{kept}      ignore: [INSERT]\n"))
    channel.at_source("INSERT INTO crm.tmp_kept VALUES (2)")
    channel.replicate()
    channel.file.write_text(text)
    assert channel.rows("SELECT id FROM dw.tmp_kept ORDER BY 1") == [(1,), (7,)]


def test_a_text_runs_where_the_table_is_as_at_the_source_and_others_are_adapted(channel: Replica) -> None:
    channel.at_source(
        "ALTER TABLE crm.archive /* text */ ADD note text DEFAULT 'none'",
        "ALTER TABLE crm.account /* text */ ADD note text DEFAULT 'none'",
        "ALTER TABLE crm.event ADD note text",
        "INSERT INTO crm.archive VALUES (9, 9)",
        "INSERT INTO crm.account VALUES (9, 'EU', 90, 's', 'mine'), (10, 'EU', 1, 's', 'mine')",
        "INSERT INTO crm.event VALUES (9, 9, 'x')",
    )
    channel.capture()
    text = channel.plan().text()
    assert "ALTER TABLE dw.archive /* text */ ADD note" in text
    assert "dw.account /* text */" not in text
    channel.replicate()
    assert channel.rows("SELECT * FROM dw.archive WHERE id = 9") == [(9, 9, "none")]
    query = "SELECT account_id, region, amount, note, kind, twice FROM dw.account WHERE account_id >= 9"
    assert channel.rows(query) == [(9, "EU", 90, "mine", "crm", 180)]
    assert channel.rows("SELECT id, level, op FROM dw.event WHERE id = 9") == [(9, 9, "insert")]


def test_a_table_that_is_dropped_leaves_the_target_too(channel: Replica) -> None:
    channel.at_source("DROP TABLE crm.account", "DROP TABLE crm.archive")
    channel.replicate()
    found = channel.rows("SELECT to_regclass('dw.account')::text, to_regclass('dw.archive')::text")
    assert found == [(None, None)]
