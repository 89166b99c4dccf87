"""Conditions over columns of every type that they may name mean the same to both servers, and to a load and the log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.restricting import FULL, begun

CONDITIONS = {
    "i % 2 = 0 AND i NOT IN (2, -4)": "UPDATE t SET i = i + 100 WHERE i % 3 = 0",
    "d BETWEEN '2026-01-05' AND '2026-01-09'::date": "UPDATE t SET d = d + 3",
    "ts >= '2026-01-07 02:00:00+02'": "UPDATE t SET ts = ts + interval '3 days'",
    "ts < '2026-01-07 00:00:00'": "UPDATE t SET ts = ts + interval '3 days'",
    "f > 0.1::real OR f IS NULL": "UPDATE t SET f = CASE WHEN i % 3 > 0 THEN f * 10 ELSE 0 END",
    "b IS NOT TRUE": "UPDATE t SET b = CASE WHEN i % 3 > 0 THEN NOT b END",
    r"note LIKE 'a\_%' AND note <> 'a_''6'": "UPDATE t SET note = replace(note, '-', '_')",
    "c = 'x' AND u <> '00000000-0000-0000-0000-000000000003'": "UPDATE t SET c = CASE WHEN i % 2 = 0 THEN 'x' END",
    "n * 2 - i >= 10.50 AND n IS DISTINCT FROM 12": "UPDATE t SET n = n + 2",
    "NOT (b AND i < 5) AND span > '2 days'": "UPDATE t SET b = NOT b, span = span * 2",
    '"Ä ""x" = 1': 'UPDATE t SET "Ä ""x" = 1 - "Ä ""x"',
    "at IN ('03:00', '05:00') AND raw = '\\x0102'": "UPDATE t SET at = at + interval '1 hour'",
}
TABLE = (
    "CREATE TABLE t (i int PRIMARY KEY, d date, ts timestamptz, f float8, b boolean, note text, c char(3), u uuid,"
    ' n numeric(9,3), span interval, "Ä ""x" smallint, at time, raw bytea)'
)
ROWS = r"""
INSERT INTO t SELECT i, date '2026-01-01' + i, timestamptz '2026-01-01+00' + i * interval '1 day', i / 50.0, i % 2 = 0,
    CASE i % 2 WHEN 0 THEN 'a_''' ELSE 'a-''' END || i, CASE WHEN i < 6 THEN 'x' END,
    ('00000000-0000-0000-0000-' || lpad(i::text, 12, '0'))::uuid, i + 0.5, i * interval '12 hours', i % 2,
    time '00:00' + i * interval '1 hour', '\x0102'
FROM generate_series(1, 12) i
"""


@pytest.mark.parametrize("format", ["binary", "text"])
@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
def test_both_servers_read_it_alike(databases: Any, tmp_path: Path, condition: str, format: str) -> None:
    """Whatever the databases say of dates and time zones."""
    for url in (databases.source, databases.target):
        with psycopg.connect(url, autocommit=True) as connection:
            name = connection.info.dbname
            zone = "Asia/Tokyo" if url == databases.target else "America/Lima"
            connection.execute(f"ALTER DATABASE {name} SET timezone = '{zone}'")  # type: ignore[arg-type]
            connection.execute(f"ALTER DATABASE {name} SET datestyle = 'SQL, DMY'")  # type: ignore[arg-type]
    said = {"condition": condition}
    replica = begun(databases, tmp_path, said, statements=(TABLE, FULL, ROWS), capture={"format": format})
    before = there(replica.target)
    assert before == there(replica.source, condition) and 0 < len(before) < 12
    replica.at_source("UPDATE t SET note = note || 'x' WHERE i = 1", CONDITIONS[condition])
    replica.settle()
    after = there(replica.target)
    assert after == there(replica.source, condition) and after != before


def there(url: str, condition: str = "true") -> list[int]:
    with psycopg.connect(url) as connection:
        connection.execute("SET timezone = 'UTC'; SET datestyle = 'ISO, YMD'")
        rows = connection.execute(f"SELECT i FROM t WHERE {condition} ORDER BY i").fetchall()  # type: ignore[arg-type]
        return [i for (i,) in rows]
