"""What somebody else does to tables of a lake during a run is not lost, and neither is what the run does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.engines.lake import target_port
from airflow_ddlrepl.engines.lake.target import repetition
from airflow_ddlrepl.engines.lake.target.apply import stage_program
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.names import TableName
from tests.conformance.lake_place import iceberg
from tests.conformance.places import Place
from tests.conftest import Databases
from tests.support.lakes.outsider import somebody
from tests.support.lakes.reader import Beside

pytestmark = pytest.mark.xdist_group("spark")
ORDERS = TableName("public", "orders")
WORK = "update orders set note = note || '{0}'; insert into orders values ({0}, 'new'); delete from log where n = {0}"


class Shop:
    """A channel into a lake, with somebody who does something there when a run has staged its work."""

    def __init__(self, place: Place, location: str, beside: Beside) -> None:
        self.place, self.location, self.beside = place, location, beside
        self.statements: list[list[str]] = []

    def meanwhile(self) -> None:
        """What is next, of somebody's."""
        if self.statements:
            self.do(*self.statements.pop(0))

    def do(self, *statements: str) -> None:
        with self.beside.of_nobody():
            for one in statements:
                somebody(self.location).sql(one)

    def rows(self) -> dict[str | None, dict[str, str | None]]:
        return {row["id"]: row for row in self.place.read(ORDERS) or ()}


@pytest.fixture
def shop(databases: Databases, tmp_path: Path, lake_spark: None, monkeypatch: Any) -> Iterator[Shop]:
    beside: list[Beside] = []
    place = iceberg(tmp_path, databases.source, beside)
    found = Shop(place, f"iceberg://{tmp_path}/catalog.db?warehouse={tmp_path}/warehouse", beside[0])

    def staged(*given: Any) -> Any:
        done = stage_program(*given)
        found.meanwhile()
        return done

    monkeypatch.setattr(target_port, "stage_program", staged)
    monkeypatch.setattr(repetition, "LONGEST_PAUSE", 0.01)
    with beside[0]:
        yield found
    beside[0].check()


def test_a_run_is_repeated_on_what_others_have_written(shop: Shop) -> None:
    shop.place.start()
    now = "CAST(now() AS TIMESTAMP)"
    for number, statements in enumerate(
        (
            ["ALTER TABLE lake.public.orders ADD COLUMN theirs INT"],
            ["CALL lake.system.rewrite_data_files(table => 'public.orders', options => map('rewrite-all', 'true'))"],
            [f"CALL lake.system.expire_snapshots(table => 'public.orders', older_than => {now}, retain_last => 1)"],
            ["UPDATE lake.public.orders SET theirs = 5 WHERE id = 7"],
        ),
        1,
    ):
        shop.place.replica.at_source(WORK.format(f"{number}00"))
        shop.statements = [statements]
        shop.place.replica.replicate()
        shop.place.check()
        assert not shop.statements
    assert shop.rows()["7"]["theirs"] == "5" and shop.rows()["8"]["theirs"] is None
    shop.place.replica.at_source(WORK.format("500"), "alter table orders add c int default 3")
    shop.statements = [
        ["INSERT INTO lake.public.orders VALUES (900, 'theirs', 1)"],
        ["DELETE FROM lake.public.orders WHERE id = 5"],
    ]
    error = shop.place.suspend()  # their second change has removed a row that the run changes
    assert "INT-101" in str(error) and "public.orders" in str(error)
    assert shop.rows()["900"]["note"] == "theirs" and shop.rows()["900"].get("c") is None


def test_who_writes_all_the_time_is_named_and_nothing_is_lost(shop: Shop) -> None:
    shop.place.start()
    shop.place.replica.at_source(WORK.format("100"), "alter table orders rename note to remark")
    before = shop.rows()
    shop.statements = [[f"INSERT INTO lake.public.orders VALUES ({900 + n}, 'theirs')"] for n in range(99)]
    with pytest.raises(DdlReplError) as raised:
        shop.place.replica.replicate()
    assert raised.value.code == "TGT-112" and f"{repetition.ATTEMPTS} times" in raised.value.message
    assert "pause" in raised.value.hint and raised.value.retryable
    done, shop.statements = 99 - len(shop.statements), []
    found = shop.rows()
    assert {i: row for i, row in found.items() if int(str(i)) < 900} == before and len(found) == len(before) + done
    shop.do("DELETE FROM lake.public.orders WHERE id >= 900")
    shop.place.settle()


def test_a_table_that_is_dropped_taken_back_or_made_again_stops_alone_and_is_loaded_again(shop: Shop) -> None:
    shop.place.start("create table items (id int primary key, note text)")
    back, made_again = (
        "CALL lake.system.rollback_to_snapshot('public.orders', {first})",
        ("CREATE OR REPLACE TABLE lake.public.orders USING iceberg AS SELECT * FROM lake.public.orders"),
    )
    theirs = "INSERT INTO lake.public.orders VALUES (900, 'theirs')"
    for number, (code, *statements) in enumerate(
        [
            ("TGT-113", "DROP TABLE lake.public.orders"),
            ("TGT-114", back, theirs),
            ("TGT-114", made_again),
        ],
        2,
    ):
        shop.place.replica.at_source(WORK.format(f"{number}00"), f"insert into items values ({number}, 'goes on')")
        shop.place.replica.replicate()
        ids = somebody(shop.location).sql("SELECT snapshot_id FROM lake.public.orders.snapshots ORDER BY committed_at")
        shop.place.replica.at_source(WORK.format(f"{number}50"), f"update items set note = 'late {number}'")
        shop.statements = [[one.format(first=ids.collect()[0][0]) for one in statements]]
        error = shop.place.suspend()
        assert code in str(error) and error.table == "public.orders" and "ddlrepl refresh" in error.hint
        shop.place.replica.refresh("public.orders")
        shop.place.settle()
