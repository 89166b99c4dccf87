"""Every built-in type comes out of the log exactly as the server sends it, in both formats."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from airflow_ddlrepl.capture.write_range import LogWriting, RangeTask, write_range
from airflow_ddlrepl.engines.postgres.connection.settings import LOG
from airflow_ddlrepl.engines.postgres.log.read_range import PostgresRange
from airflow_ddlrepl.engines.postgres.pgoutput.binary_types import BUILTIN, NATIVE, NOT_RECEIVED_EMPTY
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.trail.store import Trail

EVERYTHING = (LogKey(0, 0), LogKey(1 << 62, 0))

VALUES: dict[str, list[str]] = {
    "boolean": ["t", "f"],
    "bytea": ["", r"\x00ff", r"\xdeadbeef"],
    '"char"': ["a", "", "~"],
    "name": ["plain", "with space", "ünïcode"],
    "bigint": ["0", "-9223372036854775808", "9223372036854775807"],
    "smallint": ["-32768", "32767"],
    "int2vector": ["1 2 -3", ""],
    "integer": ["-2147483648", "2147483647", "0"],
    "text": ["", "a'b\"c\\d;%", "zeile\nzwei\t", "日本語 🎉", "NULL"],
    "oid": ["0", "4294967295"],
    "tid": ["(0,1)", "(4294967295,65535)"],
    "xid": ["3", "4294967295"],
    "cid": ["0", "7"],
    "oidvector": ["1 2 3", ""],
    "json": ['{"b":1, "a": [1,2 ]}', "null", '"\\u00e9"'],
    "xml": ["<a/>", '<?xml version="1.0" encoding="UTF-8"?><a>ü</a>', "loose text"],
    "point": ["(1.5,-2)", "(Infinity,NaN)"],
    "lseg": ["[(0,0),(1,1)]"],
    "path": ["[(0,0),(1,1)]", "((0,0),(1,1),(2,0))"],
    "box": ["(1,1),(0,0)"],
    "polygon": ["((0,0),(1,1),(2,0))"],
    "line": ["{1,2,3}"],
    "cidr": ["10.0.0.0/8", "::/0"],
    "real": ["0", "-0", "NaN", "Infinity", "-Infinity", "1e-45", "3.4028235e38", "0.1"],
    "double precision": ["0", "-0", "NaN", "Infinity", "-Infinity", "5e-324", "1.7976931348623157e308", "0.1"],
    "circle": ["<(0,0),5>"],
    "macaddr8": ["08:00:2b:01:02:03:04:05"],
    "money": ["-92233720368547758.08", "12.34"],
    "macaddr": ["08:00:2b:01:02:03"],
    "inet": ["192.168.0.1", "10.1.2.3/8", "::1", "2001:db8::/32"],
    "character": ["x", " "],
    "character varying": ["", "  trailing  "],
    "date": ["2000-01-01", "4713-01-01 BC", "5874897-12-31", "infinity", "-infinity", "0044-03-15 BC"],
    "time without time zone": ["00:00:00", "24:00:00", "23:59:59.999999"],
    "timestamp without time zone": [
        "infinity",
        "-infinity",
        "4713-01-01 00:00:00 BC",
        "294276-12-31 23:59:59.999999",
        "1999-12-31 23:59:59.999999",
    ],
    "timestamp with time zone": [
        "infinity",
        "-infinity",
        "0001-01-01 00:00:00+00 BC",
        "2024-02-29 12:00:00.000001+05:30",
    ],
    "interval": ["1 year -2 mons 3 days 04:05:06.789", "-178000000 years", "00:00:00.000001"],
    "time with time zone": ["00:00:00+15:59", "24:00:00-15:59", "12:34:56.789+02"],
    "bit": ["1", "0"],
    "bit varying": ["", "1", "101010101"],
    "numeric": [
        "0",
        "NaN",
        "Infinity",
        "-Infinity",
        "0.0000",
        "-1" + "0" * 200,
        "1e-1000",
        "123456789.987654321",
        "9" * 300 + "." + "9" * 300,
    ],
    "refcursor": ["c1"],
    "uuid": ["00000000-0000-0000-0000-000000000000", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
    "txid_snapshot": ["10:20:10,14,15"],
    "pg_lsn": ["0/0", "FFFFFFFF/FFFFFFFF", "16/B374D848"],
    "tsvector": ["'a':1A,2 'fat':3B", ""],
    "tsquery": ["'fat' & ( 'rat' | !'cat':AB )", ""],
    "jsonb": ['{"a": [1, 2.50, null], "ü": "\\u0041"}', "null", "1e5", '""'],
    "int4range": ["[1,5)", "empty", "(,)", "[3,)"],
    "numrange": ["[1.50,2.5]", "(,5)", "empty"],
    "tsrange": ["[2020-01-01,infinity)"],
    "tstzrange": ["[2020-01-01 00:00+02,)"],
    "daterange": ["[2020-01-01,2020-02-01)", "(,)"],
    "int8range": ["[-9223372036854775808,5)"],
    "jsonpath": ['$."a"[*] ? (@ > 2)', "strict $"],
    "int4multirange": ["{[1,3),[5,8)}", "{}"],
    "nummultirange": ["{[1.1,2.2)}"],
    "tsmultirange": ["{[2020-01-01,2021-01-01)}"],
    "tstzmultirange": ["{}"],
    "datemultirange": ["{[2020-01-01,2020-02-01)}"],
    "int8multirange": ["{(,5)}"],
    "pg_snapshot": ["10:20:10,14,15"],
    "xid8": ["0", "18446744073709551615"],
}


def columns(wire_format: str = "text") -> list[tuple[str, str]]:
    """(column, type): every built-in type that travels in the format and its array, some with awkward names."""
    left_out = {BUILTIN[oid][1] for oid in NOT_RECEIVED_EMPTY} if wire_format == "binary" else set()
    plain = [(f"c{number} {name}"[:60], name) for number, name in enumerate(VALUES) if name not in left_out]
    return plain + [(f"{column[:56]}[]", f"{name}[]") for column, name in plain]


def definitions(wire_format: str) -> sql.Composed:
    """The columns as CREATE TABLE takes them."""
    all_ = columns(wire_format)
    return sql.SQL(", ").join(sql.SQL("{} " + kind).format(sql.Identifier(name)) for name, kind in all_)


def test_the_table_of_types_is_complete() -> None:
    assert set(VALUES) == {name for _, name in BUILTIN.values()}


@pytest.mark.parametrize("databases", [18, 15], indirect=True)
@pytest.mark.parametrize("wire_format", ["binary", "text"])
def test_every_builtin_type_in_every_value(databases: Any, wire_format: str, tmp_path: Path) -> None:
    with psycopg.connect(databases.source, autocommit=True) as source:
        low = prepare(source, wire_format)
        fill(source, wire_format)
        high = flushed(source)
        wanted = server_values(source, wire_format)
        source.execute('update public."all" set "id;" = "id;" + 100')
        source.execute('delete from public."all"')
        end = flushed(source)
    part = write_range(task(databases.source, low, high, wire_format, tmp_path))
    assert [file.rows for file in part.files] == [len(wanted)]
    trail = Trail(tmp_path.as_uri(), "types")
    table = trail.rows(part.files[0], *EVERYTHING)
    layouts = part.files[0].columns
    for number, layout in enumerate(layouts):
        got = table.column(f"a_{layout.name}").to_pylist()
        expected = [interpret(row[number], layout.type_id, layout.encoding, wire_format) for row in wanted]
        assert list(map(comparable, got)) == list(map(comparable, expected)), (layout, got, expected)
    again = write_range(task(databases.source, high, end, wire_format, tmp_path))
    (changed,) = again.files
    assert (changed.updates, changed.deletes) == (len(wanted), len(wanted))
    later = trail.rows(changed, *EVERYTHING)
    for layout in layouts[1:]:
        before = later.column(f"b_{layout.name}").to_pylist()[: len(wanted)]
        assert list(map(comparable, before)) == list(map(comparable, table.column(f"a_{layout.name}").to_pylist()))


def prepare(source: psycopg.Connection[Any], wire_format: str) -> Position:
    shape = sql.SQL(", ").join(
        sql.SQL("{} " + kind).format(sql.Identifier(name)) for name, kind in columns(wire_format)
    )
    source.execute(sql.SQL('create table public."all" ("id;" int primary key, {})').format(shape))
    source.execute('alter table public."all" replica identity full')
    source.execute("create publication pub for all tables")
    row = source.execute(
        "select lsn::text from pg_create_logical_replication_slot('types_slot', 'pgoutput')"
    ).fetchone()
    assert row
    return Position.parse(row[0])


def fill(source: psycopg.Connection[Any], wire_format: str) -> None:
    """As many rows as the longest list of values, then one of nulls."""
    known = {**VALUES, "xml": VALUES["xml"] if has_xml(source) else []}
    deepest = max(map(len, VALUES.values()))
    for number in range(deepest):
        values: list[Any] = [number]
        for _, kind in columns(wire_format):
            if kind.endswith("[]"):
                values.append([*known[kind[:-2]], None] if number % 2 == 0 else [])
            else:
                texts = known[kind]
                values.append(texts[number % len(texts)] if texts else None)
        kinds = ["int", *(kind for _, kind in columns(wire_format))]
        holes = sql.SQL(", ").join(
            sql.SQL("%s::text[]::" + kind) if kind.endswith("[]") else sql.SQL("%s::text::" + kind) for kind in kinds
        )
        source.execute(sql.SQL('insert into public."all" values ({})').format(holes), values)
    source.execute('insert into public."all" ("id;") values (%s)', [deepest])


def has_xml(source: psycopg.Connection[Any]) -> bool:
    """Some builds come without libxml."""
    try:
        source.execute("select '<a/>'::xml")
    except psycopg.errors.FeatureNotSupported:
        return False
    return True


def server_values(source: psycopg.Connection[Any], wire_format: str) -> list[list[bytes | None]]:
    """What the server itself sends for every value: by COPY in binary, by a plain query in text."""
    for name, value in LOG.items():
        source.execute("select set_config(%s, %s, false)", [name, value])
    if wire_format == "binary":
        with source.cursor().copy('copy (select * from public."all" order by 1) to stdout (format binary)') as copy:
            return rows_of(b"".join(bytes(block) for block in copy))
    result = source.execute('select * from public."all" order by 1').pgresult
    assert result
    return [[result.get_value(row, column) for column in range(result.nfields)] for row in range(result.ntuples)]


def rows_of(data: bytes) -> list[list[bytes | None]]:
    place, rows = 19, []
    while (count := struct.unpack_from(">h", data, place)[0]) >= 0:
        place += 2
        row: list[bytes | None] = []
        for _ in range(count):
            (size,) = struct.unpack_from(">i", data, place)
            place += 4
            row.append(None if size < 0 else data[place : place + size])
            place += max(size, 0)
        rows.append(row)
    return rows


def interpret(raw: bytes | None, oid: int, encoding: str, wire_format: str) -> Any:
    """One value as the trail should hold it."""
    if raw is None or encoding == "binary":
        return raw
    if wire_format == "text":
        return {16: lambda: raw == b"t", 20: lambda: int(raw), 21: lambda: int(raw), 23: lambda: int(raw)}.get(
            oid, raw.decode
        )()
    if oid == 18:
        return raw.strip(b"\0").decode()
    if oid == 3802:
        return raw[1:].decode()
    codec = NATIVE[oid]
    formats = {"int16": ">h", "int32": ">i", "int64": ">q", "float": ">f", "double": ">d", "bool": ">?"}
    if str(codec.arrow) in formats:
        return struct.unpack(formats[str(codec.arrow)], raw)[0]
    return raw.decode() if str(codec.arrow) == "string" else raw


def comparable(value: Any) -> Any:
    return struct.pack(">d", value) if isinstance(value, float) else value


def flushed(source: psycopg.Connection[Any]) -> Position:
    row = source.execute("select pg_current_wal_flush_lsn()::text").fetchone()
    assert row
    return Position.parse(row[0])


def task(dsn: str, low: Position, high: Position, wire_format: str, folder: Path) -> RangeTask:
    read = PostgresRange(low, high, dsn, "types_slot", "pub", wire_format=wire_format)
    return RangeTask(read, 0, LogWriting(folder.as_uri(), "types", 0, 1, low))
