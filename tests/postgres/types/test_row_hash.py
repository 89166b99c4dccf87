"""The hash of a row: two versions of the server compute it alike, and it tells rows apart whose texts differ."""

from __future__ import annotations

from typing import Any

import psycopg

from airflow_ddlrepl.engines.postgres.catalog.inspect import inspect
from airflow_ddlrepl.engines.postgres.connection.settings import SPELLING
from airflow_ddlrepl.engines.postgres.types.row_hash import row_hash

VALUES = {
    "smallint": ("0", "1", "-1"),
    "integer": ("0", "1", "-1", "2147483647"),
    "bigint": ("0", "1", "-1", "4294967296", "4294967297", "8589934593", "12884901890", "-4294967297"),
    "numeric": ("0", "0.0", "1", "1.00", "-1", "NaN", "Infinity", "-Infinity", "1e40"),
    "real": ("0", "-0", "1", "NaN", "Infinity"),
    "double precision": ("0", "-0", "1", "1.0000000000000002", "NaN", "-Infinity"),
    "text": ("", "a", "A", "a ", "é", "NULL"),
    "varchar(9)": ("", "a", "a "),
    "char(3)": ("", "a"),
    "bytea": ("", "\\x00", "\\x0000", "\\x61"),
    "boolean": ("true", "false"),
    "date": ("2000-01-01", "2000-01-02", "infinity", "-infinity"),
    "time": ("00:00", "00:00:00.000001", "24:00"),
    "timetz": ("00:00+00", "01:00+01"),
    "timestamp": ("2000-01-01", "2000-01-01 01:11:34.967297", "infinity"),
    "timestamptz": ("2000-01-01 00:00+00", "2000-01-01 01:11:34.967297+00", "-infinity"),
    "interval": ("1 day", "24:00:00", "30 days", "1 mon"),
    "uuid": ("00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000001"),
    "jsonb": ("1", "1.0", '"1"', "null"),
    "json": ("1", "1 "),
    "int[]": ("{}", "{1}", "{NULL}", "[0:0]={1}"),
    "money": ("1", "2"),
    "inet": ("1.2.3.4", "1.2.3.4/31"),
}


def hashes(server: Any) -> dict[str, int]:
    """For each type the hashes of rows (value, value), (value, NULL), (NULL, value), by their text."""
    found: dict[str, int] = {}
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute(SPELLING.encode())
        for type_, values in VALUES.items():
            name = f"public.of_{abs(hash(type_))}"
            connection.execute(f"CREATE TABLE {name} (a {type_}, b {type_})".encode())
            for value in values:
                pairs: list[list[str | None]] = [
                    [value, value],
                    [value, None],
                    [None, value],
                    [value, values[0]],
                    [values[0], value],
                    [None, None],
                ]
                for pair in pairs:
                    connection.execute(f"INSERT INTO {name} VALUES (%s, %s)".encode(), pair)
            row = connection.execute(f"SELECT '{name}'::regclass::oid::bigint".encode()).fetchone()
            assert row is not None
            (table,) = inspect(connection, [row[0]])
            sql = row_hash([(column.name, column.type) for column in table.columns], connection.info.server_version)
            rows = connection.execute(f"SELECT DISTINCT ROW(a, b)::text, {sql} FROM {name}".encode()).fetchall()
            connection.execute(f"DROP TABLE {name}".encode())
            found |= {f"{type_} {text}": number for text, number in rows}
            assert len(rows) == len({number for _, number in rows}) == len({text for text, _ in rows}), type_
    return found


def test_two_versions_agree_and_no_two_rows_have_one_hash(pg18: Any, pg15: Any) -> None:
    new, old = hashes(pg18), hashes(pg15)
    assert new == old and len(new) > 200
