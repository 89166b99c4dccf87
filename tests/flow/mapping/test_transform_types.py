"""What a function gets and gives back is exactly what stood there, of every type that a server has."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from tests.flow.refresh.test_random_types import fitting
from tests.postgres.log.test_capture_range_types import has_xml
from tests.support.builtin_types import find
from tests.support.restricting import FULL
from tests.support.transforming import OURS, begun

SAME = {"tables": "t", "columns": "c*", "function": f"{OURS}:same"}
OWN = (
    "CREATE TYPE mood AS ENUM ('sad', 'Glad, \"very\"')",
    "CREATE TYPE pair AS (a int, b text)",
    "CREATE DOMAIN small AS numeric(9,2) CHECK (VALUE < 100000)",
    "CREATE TABLE t (id int PRIMARY KEY, c1 mood, c2 mood[], c3 pair, c4 small, c5 int4range, c6 pair[],"
    " c7 timestamptz, c8 bytea, c9 json, c10 numeric, c11 float8, c12 char(5))",
    FULL,
    """INSERT INTO t VALUES (1, 'Glad, "very"', '{sad,NULL,"Glad, \\"very\\""}', '(,)', 1.50, '[1,5)', '{"(1,x)",NULL}',
        '2026-01-02 03:04:05.678+09', '\\x00ff5c', '{"a" : 1}', 1.500, 'NaN', 'ab'),
        (2, NULL, '{}', NULL, NULL, 'empty', '{}', 'infinity', '', 'null', 'NaN', '-0', '')""",
)


@pytest.mark.parametrize("format", ["binary", "text"])
def test_every_type_of_the_server(databases: Any, tmp_path: Path, format: str) -> None:
    """All of them go as text, and a tsquery's text is all that is left of it."""
    with psycopg.connect(databases.source) as connection:
        found = fitting(find(connection, 18), format, has_xml(connection))
    kinds = [replace(kind, send="%s::text") if "tsquery" in kind.name else kind for kind in found]
    columns = ", ".join(f"c{number} {kind.spelled}" for number, kind in enumerate(kinds))
    rng = random.Random(7)
    rows = [[None if rng.random() < 0.2 else kind.make(rng) for kind in kinds] for _ in range(12)]
    table = (f"CREATE TABLE t (id int PRIMARY KEY, {columns})", FULL)
    replica = begun(databases, tmp_path, SAME, statements=table, capture={"format": format})
    insert = f"INSERT INTO t VALUES (%s, {', '.join(f'%s::{kind.spelled}' for kind in kinds)})"
    with psycopg.connect(databases.source) as connection:
        for number, values in enumerate(rows):
            connection.execute(insert.encode(), [number, *values])
    replica.settle()
    sent = ", ".join(kind.send.replace("%s", f"c{number}") for number, kind in enumerate(kinds))
    query = f"SELECT id, {sent} FROM t ORDER BY id"

    def there(url: str) -> Any:
        with psycopg.connect(url) as connection:
            return connection.execute(query.encode()).fetchall()

    assert there(replica.target) == there(replica.source)
    replica.at_target("TRUNCATE t")
    replica.refresh("public.t")
    assert there(replica.target) == there(replica.source)


def test_types_of_users(databases: Any, tmp_path: Path) -> None:
    replica = begun(databases, tmp_path, SAME, statements=OWN)
    rows = "SELECT t::text FROM t ORDER BY id"
    with psycopg.connect(replica.source) as connection:
        expected = connection.execute(rows).fetchall()
    assert replica.rows(rows) == expected
    replica.at_source("UPDATE t SET id = id + 10")
    replica.settle()
    assert replica.rows(rows) == [(text.replace("(1", "(11", 1).replace("(2", "(12", 1),) for (text,) in expected]


@pytest.mark.parametrize(
    "statements",
    [
        ["ALTER TYPE mood RENAME TO kind; ALTER TYPE kind ADD VALUE 'new'", "INSERT INTO t (id, c1) VALUES (3, 'new')"],
        ["CREATE SCHEMA s2; ALTER TYPE mood SET SCHEMA s2", "UPDATE t SET c1 = 'sad', id = 9 WHERE id = 2"],
        [
            "ALTER TYPE pair ADD ATTRIBUTE c int CASCADE",
            "INSERT INTO t (id, c3, c6) VALUES (3, '(1,x,5)', '{\"(1,x,5)\"}')",
        ],
        ["ALTER DOMAIN small RENAME TO tiny", "INSERT INTO t (id, c4) VALUES (3, 5.5)"],
        ["CREATE TYPE hue AS ENUM ('red')", "ALTER TABLE t ADD c20 hue", "INSERT INTO t (id, c20) VALUES (3, 'red')"],
    ],
    ids=["label", "schema", "attribute", "domain", "new"],
)
def test_types_of_users_that_change_between_rows_of_one_cycle(
    databases: Any, tmp_path: Path, statements: list[str]
) -> None:
    replica = begun(databases, tmp_path, SAME, statements=OWN)
    replica.at_source("UPDATE t SET id = 11 WHERE id = 1", "INSERT INTO t (id, c1) VALUES (1, 'sad')")
    replica.at_source(*statements, "ALTER TABLE t ADD n int", "UPDATE t SET n = 3 WHERE id <> 2")
    replica.settle()
    rows = "SELECT t::text FROM t ORDER BY id"
    with psycopg.connect(replica.source) as connection:
        assert replica.rows(rows) == connection.execute(rows).fetchall()


@pytest.mark.parametrize("format", ["binary", "text"])
def test_what_a_function_sees_is_the_same_by_load_and_by_log(databases: Any, tmp_path: Path, format: str) -> None:
    """Whatever the databases say of dates and time zones."""
    for url, zone in ((databases.source, "America/Lima"), (databases.target, "Asia/Tokyo")):
        with psycopg.connect(url, autocommit=True) as connection:
            name = connection.info.dbname
            for setting in (f"timezone = '{zone}'", "datestyle = 'SQL, DMY'", "intervalstyle = 'iso_8601'"):
                connection.execute(f"ALTER DATABASE {name} SET {setting}")  # type: ignore[arg-type]
    said = {"tables": "t", "columns": "note", "function": f"{OURS}:joined"}
    table = (
        "CREATE TABLE t (id int PRIMARY KEY, a timestamptz, b interval, c bytea, d float4, e boolean, f date,"
        " g char(4), h inet, i bigint, j time, k uuid, l money, m timestamp(1), n int[], note text)"
    )
    row = (
        "timestamptz '2026-02-03 04:05:06+00', interval '1 day 02:00', '\\x01ff', 0.1, true, date '2026-02-03', 'ab',"
        " '10.0.0.1', 5000000000, '01:02:03', '00000000-0000-0000-0000-000000000001', 12.5::numeric::money,"
        " '2026-01-01 00:00:00.25', '{1,NULL}', 'end'"
    )
    loaded = f"INSERT INTO t VALUES (1, {row})"
    replica = begun(databases, tmp_path, said, statements=(table, FULL, loaded), capture={"format": format})
    replica.at_source(f"INSERT INTO t VALUES (2, {row})")
    replica.settle()
    (first,), (second,) = replica.rows("SELECT note FROM t ORDER BY id")
    assert first.removeprefix("1|") == second.removeprefix("2|")
    assert first.startswith(
        "1|2026-02-03 04:05:06+00|1 day 02:00:00|\\x01ff|0.1|t|2026-02-03|ab  |10.0.0.1|5000000000|"
    )


@pytest.mark.parametrize("latin", ["source", "target"])
def test_databases_with_different_encodings(databases: Any, tmp_path: Path, latin: str) -> None:
    """The function gets and gives characters, whatever bytes the databases make of them."""
    server, name = databases.server, f"latin_{databases.source.rpartition('/')[2]}"
    with psycopg.connect(databases.source, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'".encode())
    places = SimpleNamespace(source=databases.source, target=databases.target)
    setattr(places, latin, server.dsn(name))
    table = ("CREATE TABLE t (id int PRIMARY KEY, note text, c1 text)", FULL, "INSERT INTO t VALUES (1, 'é', 'äöü')")
    said = {"tables": "t", "columns": "note", "function": f"{OURS}:joined"}
    try:
        replica = begun(places, tmp_path, said, statements=table)
        replica.at_source("INSERT INTO t SELECT i, 'ß', 'ÿ' FROM generate_series(2, 5000) i")
        replica.settle()
        assert replica.rows("SELECT note FROM t WHERE id < 3 ORDER BY id") == [("1|é|äöü",), ("2|ß|ÿ",)]
        assert replica.rows("SELECT count(*) FROM t WHERE note LIKE '%|ß|ÿ'") == [(4999,)]
    finally:
        server.drop_database(name)
