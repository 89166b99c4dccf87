"""Row by row, only the rows in ranges of the key that differ are read, and the table ends equal to the source's."""

from __future__ import annotations

import logging
import random
import re
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.flow.refresh import table_loader
from tests.support.differing_rows import new_replica
from tests.support.replica import Replica, channel_file

FAR = "SELECT 9000000000000000 + i * 977 FROM generate_series(1, 900) i"
KEYS = f"SELECT i FROM generate_series(-900, 900) i UNION ALL {FAR}"
MAKE = (
    "CREATE TABLE t (id bigint PRIMARY KEY, b bigint, n numeric, f float8, at timestamptz, d date, s interval,"
    " v text, w varchar(40), c char(5), u uuid, y bytea, j jsonb, a int[], o boolean)",
    "INSERT INTO t SELECT i, i % 1000 * 4294967296, i, i / 7.0, to_timestamp(i % 100000),"
    " '2020-01-01'::date + (i % 1000)::int, i % 100 * interval '1 day', 'v' || i, 'w' || i, 'c',"
    " md5(i::text)::uuid, decode(md5(i::text), 'hex'),"
    f" jsonb_build_object('i', i), ARRAY[i % 9], i % 2 = 0 FROM ({KEYS}) k (i)",
    "ANALYZE t",
)
CHANGES = (
    "DELETE FROM t WHERE id = {}",
    "INSERT INTO t (id, v) VALUES ({} + 4000000, 'more')",
    "UPDATE t SET id = id + 3000000000 WHERE id = {}",
    "UPDATE t SET n = (n::text || '.00')::numeric WHERE id = {}",
    "UPDATE t SET b = (b >> 32) + (b << 32) WHERE id = {}",
    "UPDATE t SET b = NULL WHERE id = {}",
    "UPDATE t SET v = NULL, w = v WHERE id = {}",
    "UPDATE t SET v = '' WHERE id = {}",
    "UPDATE t SET v = w, w = v WHERE id = {}",
    "UPDATE t SET at = at + interval '1 microsecond' WHERE id = {}",
    "UPDATE t SET at = at + interval '4294967297 microseconds' WHERE id = {}",
    "UPDATE t SET s = '24 hours' WHERE id = {}; UPDATE t SET d = 'infinity' WHERE id = {}",
    "UPDATE t SET f = '-0' WHERE id = {}; UPDATE t SET n = 'NaN' WHERE id = {}",
    "UPDATE t SET c = NULL WHERE id = {}; UPDATE t SET o = NOT o WHERE id = {}",
    "UPDATE t SET y = y || '\\x00' WHERE id = {}; UPDATE t SET a = a || NULL::int WHERE id = {}",
    "UPDATE t SET j = j || '{{\"k\": 1}}', u = NULL WHERE id = {}",
    # two rows of one range exchange a value: neither the set of values nor their sum changes
    "UPDATE t SET v = CASE id WHEN {0} THEN 'v' || ({0} + 1) ELSE 'v' || {0} END WHERE id IN ({0}, {0} + 1)",
    "UPDATE t x SET b = y.b FROM t y WHERE x.id IN ({0}, {0} + 1) AND y.id = {0} + {0} + 1 - x.id",
)
SOME = re.compile(r"(\S+): (\d+) of (\d+) rows are read, those in (\d+) ranges that differ")


@pytest.fixture(autouse=True)
def _heard(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ddlrepl")


def texts(dsn: str, table: str = "t") -> list[str]:
    """Each row as its database writes it: asked of SQL alone."""
    with psycopg.connect(dsn) as connection:
        return [text for (text,) in connection.execute(f"SELECT x::text FROM {table} x ORDER BY 1")]


def equal(replica: Replica, table: str = "t") -> bool:
    return texts(replica.source, table) == texts(replica.target, table)


def partly(caplog: pytest.LogCaptureFixture) -> list[tuple[str, int]]:
    """The tables of which some rows are read, each with how many."""
    return [(found[1], int(found[2])) for text in caplog.messages if (found := SOME.match(text))]


@pytest.mark.parametrize("databases", [18, 15], indirect=True)
@pytest.mark.req("HVR-P-64")
def test_random_differences_are_written(databases: Any, tmp_path: Path, caplog: Any) -> None:
    """Negative keys, a gap of quadrillions, NULLs, values that are equal and look different."""
    replica = new_replica(databases, tmp_path, *MAKE)
    chance = random.Random(7)
    for number in range(4):
        caplog.clear()
        changes = chance.sample(CHANGES, 5) if number else CHANGES
        replica.at_target(*(one.format(*[chance.randrange(-900, 890)] * 2) for one in changes))
        assert not equal(replica)
        replica.refresh("public.t", options="-gr")
        assert equal(replica)
        ((name, read),) = partly(caplog)
        assert name == "public.t" and 0 < read < 500
        assert "public.t: 2701 rows, row by row" in caplog.text
    replica.settle()


def test_each_change_is_found_alone(databases: Any, tmp_path: Path, caplog: Any) -> None:
    """By a comparison, and by a row-wise refresh after it."""
    replica = new_replica(databases, tmp_path, *MAKE)
    for change in CHANGES:
        caplog.clear()
        replica.at_target(change.format(17, 17))
        found = replica.compare()
        replica.refresh("public.t", options="-gr")
        assert found.differences > 0, change
        assert equal(replica) and len(partly(caplog)) == 1, change


def test_nothing_is_read_where_nothing_differs(databases: Any, tmp_path: Path, caplog: Any) -> None:
    replica = new_replica(databases, tmp_path, *MAKE)
    replica.refresh("public.t", options="-gr")
    assert partly(caplog) == [("public.t", 0)]
    assert "2701 rows, row by row: 0 deleted, 0 updated, 0 inserted" in caplog.text
    replica.check_equal()


def test_where_much_differs_all_rows_are_read(databases: Any, tmp_path: Path, caplog: Any) -> None:
    replica = new_replica(databases, tmp_path, *MAKE)
    replica.at_target("UPDATE t SET v = 'x' WHERE id > 0")
    replica.refresh("public.t", options="-gr")
    assert not partly(caplog) and "all rows are read" in caplog.text
    replica.at_target("DELETE FROM t")
    replica.refresh("public.t", options="-gr")
    assert not partly(caplog)
    assert equal(replica)


def once_loaded(monkeypatch: pytest.MonkeyPatch, replica: Replica, statement: str) -> None:
    """Somebody runs a statement at the target when the shadow tables are loaded for the first time."""
    left = [statement]

    def reach(point: str) -> None:
        if point == "refresh.loaded" and left:
            replica.at_target(left.pop())

    monkeypatch.setattr(table_loader, "reach", reach)


MEANWHILE = {
    "emptied": "TRUNCATE t",
    "altered": "ALTER TABLE t ALTER v TYPE varchar(50)",
    "gone": "DROP TABLE t",
    "a row that the source's meets": "CREATE UNIQUE INDEX ON t (w); INSERT INTO t (id, w) VALUES (500000, 'w3')",
}


@pytest.mark.parametrize("what", MEANWHILE)
def test_what_changes_meanwhile_makes_it_read_all_rows(
    databases: Any, tmp_path: Path, caplog: Any, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """The ranges are known and their rows loaded: then the target's table can't take them."""
    replica = new_replica(databases, tmp_path, *MAKE)
    replica.at_target("DELETE FROM t WHERE id = 3")
    once_loaded(monkeypatch, replica, MEANWHILE[what])
    replica.refresh("public.t", options="-gr")
    assert len(partly(caplog)) == 1 and "public.t: all rows are read: " in caplog.text
    assert equal(replica)
    replica.check_equal()


def test_rows_of_others_in_the_ranges_are_seen_when_they_are_written(
    databases: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = new_replica(databases, tmp_path, *MAKE)
    replica.at_target("DELETE FROM t WHERE id = 3")
    once_loaded(monkeypatch, replica, "INSERT INTO t (id, v) VALUES (3, 'late')")
    replica.refresh("public.t", options="-gr")
    assert equal(replica)


def test_a_mask_leaves_rows_in_the_ranges(databases: Any, tmp_path: Path, caplog: Any) -> None:
    replica = new_replica(databases, tmp_path, *MAKE)
    replica.at_target("DELETE FROM t WHERE id = 3; INSERT INTO t (id) VALUES (77777)")
    replica.refresh("public.t", options="-gr -md -v")
    assert len(partly(caplog)) == 1
    assert replica.rows("SELECT count(*), count(*) FILTER (WHERE id = 77777) FROM t") == [(2702, 1)]


def test_other_names_and_columns_of_people_are_no_hindrance(databases: Any, tmp_path: Path, caplog: Any) -> None:
    named = [{"columns": "id", "name": "nr"}, {"columns": "v", "name": "ddlrepl low"}]
    file = new_replica(databases, tmp_path, *MAKE[:2]).file
    replica = Replica(databases.source, databases.target, file)
    import yaml

    file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text()), "column_properties": named}))
    replica.settle()
    replica.at_target(
        "ALTER TABLE t ADD own text DEFAULT 'mine'; DELETE FROM t WHERE nr = 5; UPDATE t SET w = 'x' WHERE nr = 6"
    )
    replica.refresh("public.t", options="-gr")
    assert replica.rows("SELECT nr, w, own FROM t WHERE nr IN (5, 6) ORDER BY 1") == [
        (5, "w5", "mine"),
        (6, "w6", "mine"),
    ]
    assert len(partly(caplog)) == 1
    replica.at_target("ALTER TABLE t DROP own")
    replica.check_equal()


WHOLE = {
    "condition": "id int PRIMARY KEY, v text",
    "soft": "id int PRIMARY KEY, v text",
    "history": "id int PRIMARY KEY, v text",
    "more": "id int PRIMARY KEY, v text",
    "typed": "id int PRIMARY KEY, v text",
    "computed": "id int PRIMARY KEY, v text, g text GENERATED ALWAYS AS (v || '!') STORED",
    "wide_key": "id int, v text, PRIMARY KEY (id, v)",
    "text_key": "id int, v text PRIMARY KEY",
    "no_key": "id int, v text",
}


def test_other_tables_are_read_whole(databases: Any, tmp_path: Path, caplog: Any) -> None:
    """Columns of the target's own, conditions, types, keys: their rows are compared when all are there."""
    said = {
        "restrict": [{"tables": "condition", "condition": "id > 10"}],
        "target_tables": [
            {"tables": "soft", "soft_delete": "gone"},
            {
                "tables": "history",
                "time_key": True,
                "extra": {"o": "{operation}", "p": "{position}", "q": "{sequence}"},
            },
            {"tables": "more", "extra": {"twice": "id * 2"}},
            {"tables": "typed", "types": {"v": "integer"}},
        ],
    }
    file = channel_file(tmp_path, databases.source, databases.target, **said)
    replica = Replica(databases.source, databases.target, file)
    for name, columns in {**WHOLE, "part": WHOLE["soft"]}.items():
        replica.at_source(
            f"CREATE TABLE {name} ({columns})",
            f"ALTER TABLE {name} REPLICA IDENTITY FULL",
            f"INSERT INTO {name} SELECT i, i FROM generate_series(1, 200) i",
        )
    replica.activate()
    for name in WHOLE:
        replica.at_target(f"UPDATE {name} SET v = '77' WHERE id = 77; DELETE FROM {name} WHERE id = 78")
    replica.refresh("*.*", options="-gr")
    assert partly(caplog) == [("public.part", 0)]
    replica.check_equal()
