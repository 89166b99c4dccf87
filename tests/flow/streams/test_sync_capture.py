"""Triggers capture the row changes that the rules take, and a run brings them into a feed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.messages import RowLcr
from airflow_ddlrepl.streams.rules.client import Client
from airflow_ddlrepl.streams.rules.decide import decide
from airflow_ddlrepl.streams.rules.rule import RuleSet
from tests.conftest import Databases
from tests.flow.streams.sync_capturing import Capturing, client, rule, subset
from tests.support.replica import BOTH

START = (
    "CREATE SCHEMA hr; CREATE SCHEMA oe",
    "CREATE TABLE hr.t (k int PRIMARY KEY, v text, n numeric)",
    "CREATE TABLE hr.u (k int)",
    "CREATE TABLE oe.x (k int)",
)
BATTERY = (
    "INSERT INTO hr.t VALUES (1)",
    "INSERT INTO hr.t VALUES (2)",
    "INSERT INTO hr.u VALUES (1)",
    "ALTER TABLE hr.t ADD w text",
    "CREATE INDEX ix ON hr.u (k)",
    "ALTER SCHEMA hr OWNER TO CURRENT_USER",
    "INSERT INTO oe.x VALUES (1)",
    "ALTER TABLE oe.x ADD w text",
)


@pytest.fixture
def captures(databases: Databases, tmp_path: Path) -> Capturing:
    found = Capturing(databases.source, tmp_path, [rule()])
    found.at_source(*START)
    return found


def objects(of: Capturing) -> list[tuple[str, str, str]]:
    return [(f"{one.owner}.{one.name}", one.command.value, one.new.get("k") or "") for one in of.lcrs()]


@BOTH
@pytest.mark.req("ST-T-07", "ST-S-08", "ST-R-18")
def test_a_table_rule_takes_the_row_changes_of_its_table_alone(captures: Capturing) -> None:
    captures.capture()
    captures.at_source(*BATTERY)
    result = captures.capture()
    assert objects(captures) == [("hr.t", "INSERT", "1"), ("hr.t", "INSERT", "2")]
    assert (result.rows, result.transactions, result.segments) == ({"sync": 2}, 2, 1)
    assert captures.events() == []


@pytest.mark.req("ST-T-07", "ST-S-09")
def test_subset_rules_take_the_rows_that_meet_them(captures: Capturing) -> None:
    captures.capture(subset("k = 1"))
    captures.at_source(*BATTERY)
    captures.capture()
    assert objects(captures) == [("hr.t", "INSERT", "1")]


def test_rows_come_into_a_subset_and_go_out_of_it(captures: Capturing) -> None:
    captures.capture(subset("v = 'in'"))
    captures.at_source(
        "INSERT INTO hr.t VALUES (1, 'out', 5)",
        "UPDATE hr.t SET v = 'in'",
        "UPDATE hr.t SET n = 6",
        "UPDATE hr.t SET v = NULL",
        "UPDATE hr.t SET n = 7",
        "UPDATE hr.t SET v = 'in', n = NULL",
        "DELETE FROM hr.t",
    )
    captures.capture()
    assert captures.seen() == [
        ("INSERT", {}, {"k": "1", "v": "in", "n": "5"}),
        ("UPDATE", {"k": "1", "v": "in", "n": "5"}, {"k": "1", "v": "in", "n": "6"}),
        ("DELETE", {"k": "1", "v": "in", "n": "6"}, {}),
        ("INSERT", {}, {"k": "1", "v": "in", "n": None}),
        ("DELETE", {"k": "1", "v": "in", "n": None}, {}),
    ]


@pytest.mark.req("ST-T-07")
def test_a_negative_rule_set_is_refused() -> None:
    with pytest.raises(RuleError) as refused:
        client(rule()).attach(RuleSet("negative"), is_positive=False)
    assert refused.value.code == "RUL-110"


@pytest.mark.req("ST-R-09")
def test_what_is_rolled_back_is_not_captured_and_what_is_open_not_yet(captures: Capturing) -> None:
    captures.capture()
    with psycopg.connect(captures.source) as first, psycopg.connect(captures.source) as second:
        first.execute("INSERT INTO hr.t VALUES (1)")
        second.execute("INSERT INTO hr.t VALUES (2)")
        assert captures.capture().rows["sync"] == 0
        second.rollback()
        first.commit()
        assert captures.capture().rows["sync"] == 1
    assert objects(captures) == [("hr.t", "INSERT", "1")]


def test_a_savepoint_that_is_rolled_back_takes_its_changes_with_it(captures: Capturing) -> None:
    captures.capture()
    with psycopg.connect(captures.source) as connection:
        connection.execute("INSERT INTO hr.t VALUES (1)")
        with pytest.raises(psycopg.errors.UniqueViolation), connection.transaction():
            connection.execute("INSERT INTO hr.t VALUES (2)")
            connection.execute("INSERT INTO hr.t VALUES (1)")
        with connection.transaction():
            connection.execute("INSERT INTO hr.t VALUES (3)")
    captures.capture()
    assert [one.new["k"] for one in captures.lcrs()] == ["1", "3"]
    assert [one["changes"] for one in captures.transactions()] == [2]


def test_a_prepared_transaction_comes_once_it_is_committed(captures: Capturing) -> None:
    captures.capture()
    with psycopg.connect(captures.source, autocommit=True) as connection:
        for number in (1, 2):
            connection.execute("BEGIN")
            connection.execute(f"INSERT INTO hr.t VALUES ({number})".encode())
            connection.execute(f"PREPARE TRANSACTION 'sync_{captures.source[-8:]}_{number}'".encode())
        connection.execute("INSERT INTO hr.t VALUES (3)")
        assert captures.capture().rows["sync"] == 1
        connection.execute(f"COMMIT PREPARED 'sync_{captures.source[-8:]}_1'".encode())
        connection.execute(f"ROLLBACK PREPARED 'sync_{captures.source[-8:]}_2'".encode())
    assert captures.capture().rows["sync"] == 1
    assert [one.new["k"] for one in captures.lcrs()] == ["3", "1"]


def test_an_old_open_transaction_holds_no_later_one_up(captures: Capturing) -> None:
    captures.capture()
    with psycopg.connect(captures.source) as old:
        old.execute("INSERT INTO hr.u VALUES (1)")
        captures.at_source("INSERT INTO hr.t VALUES (1)")
        assert captures.capture().rows["sync"] == 1


def test_transactions_come_in_the_order_in_which_they_depend_on_each_other(captures: Capturing) -> None:
    captures.capture()
    with psycopg.connect(captures.source) as first, psycopg.connect(captures.source) as second:
        second.execute("INSERT INTO hr.t VALUES (10)")
        first.execute("INSERT INTO hr.t VALUES (1, 'a')")
        first.commit()
        second.execute("UPDATE hr.t SET v = 'b' WHERE k = 1")
        second.commit()
    captures.capture()
    assert [(one.command.value, one.new["k"]) for one in captures.lcrs()] == [
        ("INSERT", "1"),
        ("INSERT", "10"),
        ("UPDATE", "1"),
    ]
    places = [one["lsn"] for one in captures.transactions()]
    assert places == [(1 << 32) + 1, (1 << 32) + 2]


@pytest.mark.parametrize(
    "point", ["sync_capture.window", "sync_capture.files", "trail.temporary", "sync_capture.manifest"]
)
def test_every_change_is_in_one_segment_whatever_is_killed(captures: Capturing, point: str) -> None:
    captures.capture()
    captures.at_source("INSERT INTO hr.t SELECT g FROM generate_series(1, 3) g", "UPDATE hr.t SET v = 'x'")
    captures.dies(point)
    captures.at_source("DELETE FROM hr.t WHERE k = 2")
    result = captures.capture()
    assert result.segments == 2
    assert [(one.command.value, (one.new or one.old)["k"]) for one in captures.lcrs()] == [
        *(("INSERT", k) for k in "123"),
        *(("UPDATE", k) for k in "123"),
        ("DELETE", "2"),
    ]
    assert captures.rows("SELECT count(*) FROM ddlrepl.captured_lcrs") == [(0,)]
    named = {blob.path for segment in captures.trail.segments(0) for blob in segment.blobs()}
    assert set(captures.trail.place.walk("e0/data")) == named


def test_a_source_that_was_set_back_behind_the_feed_is_refused(captures: Capturing) -> None:
    captures.capture()
    captures.at_source("INSERT INTO hr.t VALUES (1)")
    captures.capture()
    captures.at_source("UPDATE ddlrepl.captured_windows SET number = 0", "INSERT INTO hr.t VALUES (2)")
    with pytest.raises(Exception, match="set back") as refused:
        captures.capture()
    assert refused.value.code == "SRC-192"  # type: ignore[attr-defined]
    assert captures.rows("SELECT new_values ->> 'k' FROM ddlrepl.captured_lcrs") == [("2",)]


def test_a_tag_of_the_session_is_the_tag_of_its_lcrs(captures: Capturing) -> None:
    captures.capture(rule(), rule(name="tagged", table="hr.u", include_tagged_lcr=True))
    captures.at_source(
        "SET LOCAL ddlrepl.tag = 'apply'; INSERT INTO hr.t VALUES (1); INSERT INTO hr.u VALUES (2)",
        "INSERT INTO hr.t VALUES (3)",
    )
    captures.capture()
    assert [(one.name, one.tag) for one in captures.lcrs()] == [("u", b"apply"), ("t", None)]


def test_a_transaction_has_one_tag(captures: Capturing) -> None:
    captures.capture(rule(include_tagged_lcr=True))
    with psycopg.connect(captures.source) as connection:
        connection.execute("INSERT INTO hr.t VALUES (1)")
        connection.execute("SET LOCAL ddlrepl.tag = 'apply'")
        with pytest.raises(psycopg.errors.DatabaseError, match="RUL-153"):
            connection.execute("INSERT INTO hr.t VALUES (2)")


def test_a_change_that_no_rule_takes_may_have_another_tag(captures: Capturing) -> None:
    captures.capture(rule())
    captures.at_source(
        "SET LOCAL ddlrepl.tag = 'apply'; INSERT INTO hr.t VALUES (1); SET LOCAL ddlrepl.tag = '';"
        "INSERT INTO hr.t VALUES (2)"
    )
    captures.capture()
    assert [(one.new["k"], one.tag) for one in captures.lcrs()] == [("2", None)]


def test_a_session_of_a_replication_origin_is_tagged(captures: Capturing) -> None:
    captures.capture(rule(include_tagged_lcr=True))
    origin = f"o_{captures.source[-8:]}"
    with psycopg.connect(captures.source, autocommit=True) as connection:
        connection.execute("SELECT pg_replication_origin_create(%s)", [origin])
        connection.execute("SELECT pg_replication_origin_session_setup(%s)", [origin])
        connection.execute("SET session_replication_role = replica")
        connection.execute("INSERT INTO hr.t VALUES (1)")
        connection.execute("SELECT pg_replication_origin_session_reset()")
        connection.execute("SELECT pg_replication_origin_drop(%s)", [origin])
    captures.capture()
    assert [one.tag for one in captures.lcrs()] == [b"replication origin"]


def test_a_truncate_goes_through_and_the_run_says_that_it_was_not_captured(captures: Capturing) -> None:
    captures.capture()
    captures.at_source("INSERT INTO hr.t VALUES (1)", "TRUNCATE hr.t")
    result = captures.capture()
    assert result.truncated == ("hr.t",)
    assert (result.rows["sync"], result.transactions) == (1, 2)
    assert [(str(one.kind), one.dropped[0][1].name) for one in captures.events()] == [("no truncate", "t")]


def test_messages_in_the_table_of_captured_lcrs_come_with_their_transaction(captures: Capturing) -> None:
    captures.capture()
    captures.at_source(
        "INSERT INTO hr.t VALUES (1); INSERT INTO ddlrepl.captured_lcrs (channel, client, kind, payload)"
        " VALUES ('shop', 'sync', 'message', '{\"type\": \"own.m\"}'); INSERT INTO hr.t VALUES (2)"
    )
    captures.capture()
    (event,) = captures.events()
    assert (event.prefix, event.key.seq, event.key.lsn) == ("ddlrepl.message", 1, captures.transactions()[0]["lsn"])
    assert [one["changes"] for one in captures.transactions()] == [2]


CONDITIONS = [
    ":lcr.get_value('NEW','\"n\"').AccessNumber() > 3",
    ":lcr.get_command_type() = 'UPDATE' AND :lcr.get_value('OLD','\"v\"').AccessVarchar2() LIKE 'a%'",
    "NOT (:lcr.get_value('NEW','\"n\"').AccessNumber() > 3 OR :lcr.get_value('NEW','\"v\"') IS NULL)",
    ":lcr.get_source_database_name() >= ' '",
    "NVL(:lcr.get_value('NEW','\"n\"').AccessNumber(), -1) < 0",
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_trigger_decides_as_the_rules_do_elsewhere(captures: Capturing, condition: str) -> None:
    """All changes are captured by one client; the rules decide of them as the trigger with the condition did."""
    captures.capture(rule())
    work: Any = (
        "INSERT INTO hr.t VALUES (1, 'a', 1), (2, 'b', 4), (3, NULL, NULL)",
        "UPDATE hr.t SET n = n + 1",
        "UPDATE hr.t SET v = NULL WHERE k = 1",
        "DELETE FROM hr.t",
    )
    captures.at_source(*work)
    captures.capture()
    everything = captures.lcrs()
    captures.capture(rule(and_condition=condition))
    captures.at_source(*work)
    captures.capture()
    of = client(rule(and_condition=condition))
    wanted = [one for one in everything if _is_taken(of, one)]
    taken = captures.lcrs()[len(everything) :]
    assert [(one.command, one.old, one.new) for one in taken] == [(one.command, one.old, one.new) for one in wanted]
    assert 0 < len(wanted) <= len(everything)


def _is_taken(of: Client, lcr: RowLcr) -> bool:
    from dataclasses import replace
    from decimal import Decimal

    def typed(row: Any) -> dict[str, Any]:
        return {k: v if v is None or k == "v" else Decimal(v) for k, v in row.items()}

    return decide(of, replace(lcr, source_database="source", old=typed(lcr.old), new=typed(lcr.new))).is_taken
