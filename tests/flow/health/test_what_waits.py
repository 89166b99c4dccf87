"""Each table at each target says how many captured rows it lacks, by what capture has stored."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.flow.health.channel import channel_health
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.repository.stored.rows import SegmentFacts, TableRows
from tests.support.replica import Make, Replica
from tests.support.suspending import ACCEPT, REFUSE, START, cycle_fails


def tables(replica: Replica) -> dict[str, dict[str, Any]]:
    with Repository.open(load_channel(replica.file).repository) as repository:
        rows = channel_health(repository, "shop", datetime.now(UTC))["tables"]
    return {row["table"].removeprefix("public."): row for row in rows}


def waiting(replica: Replica) -> dict[str, int | None]:
    return {name: row["waiting_rows"] for name, row in tables(replica).items()}


def test_rows_that_were_captured_and_not_applied_wait_for_each_table(make: Make) -> None:
    replica = make(*START)
    replica.at_source("INSERT INTO good SELECT generate_series(10, 14), 1")
    replica.settle()
    assert waiting(replica) == {"bad": 0, "good": 0}
    replica.at_source("INSERT INTO good SELECT generate_series(20, 26), 1", "UPDATE bad SET v = 5")
    replica.capture()
    assert waiting(replica) == {"bad": 2, "good": 7}
    assert tables(replica)["good"]["waiting_bytes"] > 0
    replica.settle()
    assert waiting(replica) == {"bad": 0, "good": 0}


def test_what_a_suspended_table_lacks_grows_until_it_goes_on(make: Make) -> None:
    replica = make(*START)
    replica.settle()
    replica.at_target(REFUSE)
    replica.at_source("INSERT INTO bad VALUES (3, 1000)", "INSERT INTO good VALUES (3, 3)")
    cycle_fails(replica)
    assert waiting(replica) == {"bad": 1, "good": 0}
    replica.at_source("INSERT INTO bad SELECT generate_series(4, 9), 1", "INSERT INTO good VALUES (4, 4)")
    cycle_fails(replica)
    assert list(tables(replica)) == ["bad", "good"]  # the one in trouble first
    assert waiting(replica) == {"bad": 7, "good": 0}
    replica.at_target(ACCEPT)
    replica.settle()
    assert waiting(replica) == {"bad": 0, "good": 0}
    with Repository.open(load_channel(replica.file).repository) as repository:
        assert repository.rows_since("shop", Position(0), {}) == {}  # nobody needs to count them any more


def test_rows_of_before_they_were_counted_are_not_known(make: Make) -> None:
    replica = make(*START)
    replica.settle()
    replica.at_target(REFUSE)
    replica.at_source("INSERT INTO bad VALUES (3, 1000)")
    cycle_fails(replica)
    with Repository.open(load_channel(replica.file).repository) as repository:
        at = Position.parse(tables(replica)["bad"]["lacks_from"])
        repository.forget_rows("shop", Position(at + 1_000_000), {})  # as in a channel of an earlier version
    assert waiting(replica)["bad"] is None


def segment(low: int, high: int, **rows: int) -> SegmentFacts:
    last = Position(high - 1)
    found = {(int(name[1:]), Position(low)): TableRows(count, 10 * count, last) for name, count in rows.items()}
    return SegmentFacts(1, Position(low), Position(high), tables=found)


def test_counts_are_kept_only_of_tables_that_lack_rows(tmp_path: Any) -> None:
    with Repository.open(f"sqlite:///{tmp_path}/r.db") as repository:
        repository.ensure_channel("shop", "f")
        with repository.lock("shop", "a") as lock:
            repository.enroll("shop", lock.token, [], Position(100))
            for low in range(100, 500, 100):
                facts = segment(low, low + 100, t1=1, t2=2)
                assert repository.commit_segment("shop", lock.token, facts, [], facts.high)
                assert not repository.commit_segment("shop", lock.token, facts, [], facts.high)
        assert repository.rows_since("shop", Position(100), {}) == {1: (4, 40), 2: (8, 80)}
        repository.forget_rows("shop", Position(400), {2: Position(200)})
        assert repository.rows_since("shop", Position(0), {}) == {1: (1, 10), 2: (6, 60)}
        assert repository.rows_since("shop", Position(400), {2: Position(300)}) == {1: (1, 10), 2: (4, 40)}
        known = repository.counted_from("shop")
        assert known is not None and (known.of(1), known.of(2)) == (Position(400), Position(200))
        repository.forget_rows("shop", Position(500), {1: Position(200), 2: Position(250)})
        known = repository.counted_from("shop")
        assert known is not None and (known.of(1), known.of(2)) == (Position(400), Position(250))
