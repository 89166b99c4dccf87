"""The change feed without Spark: a table's changes between two places, as Arrow batches."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.change_feed.feed import open_feed
from airflow_ddlrepl.flow.change_feed.options import read_options
from airflow_ddlrepl.flow.change_feed.read import read
from tests.support.refusing import ask
from tests.support.replica import Make, Replica


def rows(replica: Replica, **options: Any) -> list[dict[str, Any]]:
    """The changes in log order."""
    given = {"channel": str(replica.file), "table": "public.t", **options}
    with open_feed(read_options(given)) as feed:
        parts = feed.partitions(feed.start, feed.end, feed.history(feed.start, feed.end))
    found = [row for part in parts for batch in read(part) for row in batch.to_pylist()]
    return sorted(found, key=lambda row: (row["_position"], row["_sequence"]))


def shown(found: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in found]


def code(replica: Replica, **options: Any) -> str:
    with pytest.raises(DdlReplError) as caught:
        rows(replica, **options)
    return caught.value.code


def here(replica: Replica) -> str:
    return str(ask(replica.source, "SELECT pg_current_wal_insert_lsn()")[0][0])


def moment(replica: Replica) -> str:
    return str(ask(replica.source, "SELECT clock_timestamp() FROM pg_sleep(0.002)")[0][0].isoformat())


def test_changes_have_their_columns_through_schema_changes(make: Make) -> None:
    replica = make("CREATE TABLE t (id int PRIMARY KEY, a int, gone text)")
    replica.at_source(
        "INSERT INTO t VALUES (1, 1, 'x')",
        "ALTER TABLE t RENAME a TO amount",
        "UPDATE t SET amount = 2",
        "ALTER TABLE t ALTER amount TYPE bigint",
        "ALTER TABLE t DROP gone",
        "ALTER TABLE t ADD gone int",
        "UPDATE t SET id = 2, amount = 8589934592, gone = 7",
        "TRUNCATE t",
        "INSERT INTO t VALUES (3)",
        "DELETE FROM t",
    )
    xid = ask(replica.source, "SELECT pg_current_xact_id()::text::bigint")[0][0]
    replica.capture()
    found = rows(replica)
    facts = ("_operation", "id", "amount", "gone", "gone_dropped_3", "_before", "before_id")
    assert shown(found, *facts) == [
        ("insert", 1, 1, None, "x", "none", None),
        ("update", 1, 2, None, "x", "none", None),
        ("update", 2, 8589934592, 7, None, "key", 1),
        ("truncate", None, None, None, None, "none", None),
        ("insert", 3, None, None, None, "none", None),
        ("delete", None, None, None, None, "key", 3),
    ]
    assert all(0 < xid - row["_transaction"] < 20 for row in found)
    assert found[0]["_committed"] < found[-1]["_committed"]
    numbers = [row["_revision"] for row in found]
    assert numbers == sorted(numbers) and len(set(numbers)) == 3


def test_a_feed_lies_between_two_positions_or_moments(make: Make) -> None:
    replica = make("CREATE TABLE t (id int PRIMARY KEY)")
    marks = []
    for number in range(4):
        replica.at_source(f"INSERT INTO t VALUES ({number})")
        marks.append((here(replica), moment(replica)))
        replica.capture()
    for kind in (0, 1):
        assert shown(rows(replica, start=marks[0][kind], end=marks[2][kind]), "id") == [(1,), (2,)]
    assert shown(rows(replica, end=marks[0][0]), "id") == [(0,)]
    assert rows(replica, start="now") == []
    assert code(replica, start="0/1") == "TRL-124"


def test_what_a_feed_does_not_know_or_have_is_refused(make: Make) -> None:
    replica = make("CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE p (id int PRIMARY KEY) PARTITION BY LIST (id)")
    replica.capture()
    assert code(replica, columsn="id") == "TRL-120"
    assert code(replica, table="t") == "TRL-120"
    assert code(replica, schema="any") == "TRL-120"
    assert code(replica, revision="one") == "TRL-120"
    assert code(replica, table="public.none") == "TRL-121"
    assert code(replica, table="public.p") == "TRL-121"
    assert code(replica, columns="id, none") == "TRL-122"
    assert code(replica, before_prefix="") == "TRL-122"


def test_two_tables_of_one_name_are_told_apart_by_their_ids(make: Make) -> None:
    replica = make("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (0)")
    replica.at_source("INSERT INTO t VALUES (1)")
    ids = [ask(replica.source, "SELECT 't'::regclass::oid::bigint")[0][0]]
    replica.at_source("DROP TABLE t", "CREATE TABLE t (name text PRIMARY KEY)", "INSERT INTO t VALUES ('one')")
    ids.append(ask(replica.source, "SELECT 't'::regclass::oid::bigint")[0][0])
    mark = here(replica)
    replica.at_source("INSERT INTO t VALUES ('two')")
    replica.capture()
    assert code(replica) == "TRL-121"
    assert shown(rows(replica, table_id=ids[0]), "id") == [(1,)]
    assert shown(rows(replica, table_id=ids[1]), "name") == [("one",), ("two",)]
    assert shown(rows(replica, start=mark), "name") == [("two",)]


def test_a_column_whose_types_nothing_shows_alike_is_read_one_revision_at_a_time(make: Make) -> None:
    replica = make("CREATE TABLE t (id int PRIMARY KEY, a int, d date)")
    replica.at_source(
        "INSERT INTO t VALUES (1, 5, '2026-11-21')",
        "ALTER TABLE t ALTER a TYPE text",
        "INSERT INTO t VALUES (2, 'six')",
    )
    replica.capture()
    assert shown(rows(replica), "id", "a") == [(1, "5"), (2, "six")]
    replica.at_source("ALTER TABLE t ALTER d TYPE timestamptz", "INSERT INTO t VALUES (3)")
    replica.capture()
    assert code(replica) == "TRL-122"
    assert shown(rows(replica, columns="id"), "id") == [(1,), (2,), (3,)]
    assert code(replica, schema="revision") == "TRL-123"
    assert code(replica, schema="revision", revision=99) == "TRL-123"
    number = rows(replica, columns="id")[0]["_revision"]
    assert shown(rows(replica, schema="revision", revision=number), "id", "a") == [(1, 5)]


def test_a_value_that_the_log_leaves_out_is_named(make: Make) -> None:
    replica = make("CREATE TABLE t (id int PRIMARY KEY, big text, n int, twice int GENERATED ALWAYS AS (n * 2))")
    replica.at_source("ALTER TABLE t ALTER big SET STORAGE EXTERNAL")
    replica.at_source("INSERT INTO t VALUES (1, repeat('x', 9000), 1)", "UPDATE t SET n = 2", "DELETE FROM t")
    replica.capture()
    found = shown(rows(replica, columns="id,n,big,twice"), "_operation", "n", "_absent")
    assert found == [("insert", 1, ["twice"]), ("update", 2, ["big", "twice"]), ("delete", None, None)]


TYPES = {
    "bool": ["true", "false"],
    "smallint": ["-32768", "32767"],
    "numeric": ["0", "-0.00012", "12345678901234567890.5", "100", "NaN", "10000", "0.0000001", "99990000.00"],
    "numeric(38,4)": ["1.5", "-9999999999999999999999999999999999.9999"],
    "numeric(12,2)": ["0", "1.5", "-9999999999.99", "10000", "0.01", "-0.1"],
    "numeric(6,6)": ["0.123456", "-0.000001"],
    "time": ["00:00", "24:00", "12:34:56.7"],
    "time(3)": ["00:00", "12:34:56.7", "23:59:59.999", "10:00:10"],
    "timetz": ["12:34:56.7+05:30", "00:00-08"],
    "uuid": ["00112233-4455-6677-8899-aabbccddeeff"],
    "inet": ["10.0.0.1", "10.0.0.1/8", "2001:db8::1/64", "::ffff:1.2.3.4"],
    "cidr": ["10.0.0.0/8", "10.0.0.1/32"],
    "macaddr": ["08:00:2b:01:02:03"],
    "bit(3)": ["101"],
    "varbit": ["", "110011001100"],
    "oid": ["4294967295"],
    "pg_lsn": ["16/B374D848"],
    "jsonb": ['{"a": 1}'],
    "varchar(5)": ["äö"],
    "interval": ["1 year -2 mons 3 days 04:05:06.7", "-1 day", "0", "-00:00:00.5", "-13 mons"],
}


def test_values_read_as_the_server_prints_them(make: Make) -> None:
    names = {f"c{i}": kind for i, kind in enumerate(TYPES)}
    replica = make(f"CREATE TABLE t (id int PRIMARY KEY, {', '.join(f'{c} {kind}' for c, kind in names.items())})")
    for column, kind in names.items():
        for value in TYPES[kind]:
            number = ask(replica.source, "SELECT count(*) FROM t")[0][0]
            replica.at_source(f"INSERT INTO t (id, {column}) VALUES ({number}, '{value}')")
    replica.capture()
    texts = ", ".join(f"format('%s', {column})" for column in names)
    with psycopg.connect(replica.source) as connection:
        connection.execute("SET IntervalStyle = iso_8601")
        expected = connection.execute(f"SELECT {texts} FROM t ORDER BY id".encode()).fetchall()
    for server, mine in zip(expected, rows(replica), strict=True):
        assert [text(mine[column]) for column in names] == list(server)


def text(value: Any) -> str:
    """As format prints it: nothing for NULL."""
    if isinstance(value, bool):
        return "t" if value else "f"
    return f"{value:f}" if isinstance(value, Decimal) else "" if value is None else str(value)


@pytest.mark.parametrize("more", ["", ", pair pair"])
def test_dates_moments_and_bytes_have_types_of_their_own(make: Make, more: str) -> None:
    """Also where the log is read as text, because a type does not travel in binary."""
    columns = f"d date, m timestamp, z timestamptz, b bytea, f float8, n numeric(12,2){more}"
    replica = make("CREATE TYPE pair AS (a int, b int)", f"CREATE TABLE t (id int PRIMARY KEY, {columns})")
    replica.at_source(
        "INSERT INTO t VALUES (1, '1969-12-31', '1999-12-31 23:59:59.5', '2026-11-21 08:00+02', '\\x00ff', 'NaN', 1.5)"
    )
    replica.capture()
    (row,) = rows(replica)
    assert (row["d"], row["m"]) == (date(1969, 12, 31), datetime(1999, 12, 31, 23, 59, 59, 500000))
    assert (row["z"], row["b"]) == (datetime(2026, 11, 21, 6, tzinfo=UTC), b"\x00\xff")
    assert row["f"] != row["f"]
    assert row["n"] == Decimal("1.50")
    replica.at_source("INSERT INTO t VALUES (2, 'infinity')")
    replica.capture()
    assert code(replica) == "TRL-125"
    assert shown(rows(replica, columns="id"), "id") == [(1,), (2,)]


def test_a_large_file_is_read_in_pieces_by_several_tasks(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    replica = make("CREATE TABLE t (id int PRIMARY KEY)")
    replica.at_source(*(f"INSERT INTO t SELECT g FROM generate_series({n}, {n} + 9) g" for n in range(0, 200, 10)))
    replica.capture()
    whole = rows(replica)
    monkeypatch.setattr("airflow_ddlrepl.flow.change_feed.feed.PARTITION_BYTES", 400)
    with open_feed(read_options({"channel": str(replica.file), "table": "public.t"})) as feed:
        assert len(feed.partitions(feed.start, feed.end, feed.history(feed.start, feed.end))) > 3
    assert rows(replica) == whole and len(whole) == 200
