"""Values of a column as Arrow values of a wanted type: from a real server, by their text and by their send format."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.types.arrow_values import POSTGRES_VALUES
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import DataType
from airflow_ddlrepl.ports.change_values import Converted, wanted

DAY = pa.month_day_nano_interval()

CASES: list[tuple[str, str, pa.DataType, list[Any], Sequence[int]]] = [
    ("boolean", "t f", pa.bool_(), [True, False], ()),
    ("smallint", "1 -32768", pa.int16(), [1, -32768], ()),
    ("integer", "1 300 -2", pa.int8(), [1, None, -2], (1,)),
    ("bigint", "1 9223372036854775807", pa.int32(), [1, None], (1,)),
    ("integer", "7 -8", pa.decimal128(12, 2), [Decimal("7.00"), Decimal("-8.00")], ()),
    ("numeric", "1.5 NaN 1e20 -7 0.001 123456789.12", pa.decimal128(12, 2),
     [Decimal("1.50"), None, None, Decimal(-7), None, Decimal("123456789.12")], (1, 2, 4)),
    ("numeric", "0 12345 99999.99 100000 0.01 -99999.991", pa.decimal128(7, 2),
     [Decimal(0), Decimal(12345), Decimal("99999.99"), None, Decimal("0.01"), None], (3, 5)),
    ("numeric", "1.10 Infinity", pa.string(), ["1.10", "Infinity"], ()),
    ("numeric", "1.5 -0.25", pa.float64(), [1.5, -0.25], ()),
    ("real", "1.5 1e10 Infinity", pa.float64(), [1.5, 1e10, float("inf")], ()),
    ("real", "0.1", pa.float64(), [0.10000000149011612], ()),
    ("real[]", "{0.1,NULL} {{1}}", pa.list_(pa.float64()), [[0.10000000149011612, None], None], (1,)),
    ("double precision", "0.1 1e15 123456 1e-5 -0 -Infinity", pa.string(),
     ["0.1", "1e+15", "123456", "1e-05", "-0", "-Infinity"], ()),
    ("real", "0.1 1e6 123456 16777216", pa.string(), ["0.1", "1e+06", "123456", "1.6777216e+07"], ()),
    ("text", "a ü", pa.string(), ["a", "ü"], ()),
    ("bytea", r"\x00ff \x", pa.binary(), [b"\0\xff", b""], ()),
    ("uuid", "00000000-0000-0000-0000-0000000000ff", pa.binary(16), [b"\0" * 15 + b"\xff"], ()),
    ("date", "2020-02-29 infinity 0044-03-15BC 12000-01-01", pa.date32(), [date(2020, 2, 29), None, ..., ...], (1,)),
    ("timestamp", "2020-02-29T01:02:03.000004 -infinity 294276-12-31", pa.timestamp("us"),
     [datetime(2020, 2, 29, 1, 2, 3, 4), None, None], (1, 2)),
    ("timestamptz", "2020-02-29T01:02:03+02 infinity", pa.timestamp("us", "UTC"),
     [datetime(2020, 2, 28, 23, 2, 3, tzinfo=UTC), None], (1,)),
    ("time", "23:59:59.5 24:00", pa.time64("us"), [time(23, 59, 59, 500000), None], (1,)),
    ("interval", "P1Y2M3DT4H5M6.7S P-1M -00:00:00.5", DAY,
     [pa.MonthDayNano((14, 3, 14706700000000)), pa.MonthDayNano((-1, 0, 0)), pa.MonthDayNano((0, 0, -500000000))], ()),
    ("interval", "300000000:00:00 infinity -infinity -300000000:00:00", DAY, [None] * 4, (0, 1, 2, 3)),
    ("jsonb", '{"a":1} null', pa.string(), ['{"a": 1}', "null"], ()),
    ("integer[]", "{1,NULL,3} {} {{1,2},{3,4}} [0:1]={5,6}", pa.list_(pa.int32()), [[1, None, 3], [], None, None],
     (2, 3)),
    ("integer[]", "{{1,2},{3,NULL}} {} {1}", pa.list_(pa.list_(pa.int64())), [[[1, 2], [3, None]], [], None], (2,)),
    ("numeric(6,2)[]", "{1.5,-2} {NaN,1}", pa.list_(pa.decimal128(6, 2)), [[Decimal("1.50"), Decimal(-2)], None], (1,)),
    ("text[]", r'{"a,b","c\"d\\",NULL,"NULL",""}', pa.list_(pa.string()), [["a,b", 'c"d\\', None, "NULL", ""]], ()),
    ("text[]", r'{{"}",b},{"{",d}}', pa.list_(pa.list_(pa.string())), [[["}", "b"], ["{", "d"]]], ()),
    ("date[]", "{2020-01-01} {infinity}", pa.list_(pa.date32()), [[date(2020, 1, 1)], None], (1,)),
]  # fmt: skip


@pytest.mark.parametrize("form", ["text", "sent"])
@pytest.mark.parametrize(("of", "texts", "as_type", "values", "unfit"), CASES, ids=lambda one: str(one))
def test_values_in_a_wanted_type(
    databases: Any, form: str, of: str, texts: str, as_type: pa.DataType, values: list[Any], unfit: Sequence[int]
) -> None:
    given = [
        one.replace("T", " ").replace("BC", " BC") if "time" in of or of == "date" else one for one in split(texts)
    ]
    found = converted(databases.source, form, of, given, as_type)
    found.values.validate(full=True)
    assert found.values.type == as_type
    assert len(found.values) == len(given)
    valid = found.values.is_valid().to_pylist()
    assert [place for place, one in enumerate(valid) if not one] == list(unfit)
    shown = [
        value if one is not ... else ... for value, one in zip(as_python(found.values, values), values, strict=True)
    ]
    assert shown == values
    told = found.unfit.to_pylist() if found.unfit is not None else [None] * len(given)
    assert [place for place, one in enumerate(told) if one is not None] == list(unfit)


def split(texts: str) -> list[str]:
    return texts.split(" ")


def as_python(values: pa.Array, like: list[Any]) -> list[Any]:
    return [... if one is ... else value.as_py() for value, one in zip(values, like, strict=True)]


def converted(
    dsn: str, form: str, of: str, texts: Sequence[str | None], as_type: pa.DataType, *, with_ends: bool = False
) -> Converted:
    """The values as they are read from the server, with a NULL at the end that is taken away again."""
    column = Column(1, "c", DataType(of, "pg_catalog", of))
    given = [*texts, None]
    with connect(dsn) as connection:
        if form == "text":
            rows = connection.execute(f"SELECT format('%%s', v::{of}) FROM unnest(%s::text[]) v", [given]).fetchall()
            array = pa.array([None if t is None else one for (one,), t in zip(rows, given, strict=True)], pa.string())
        else:
            cursor = psycopg.Cursor(connection)
            array = pa.array([sent(cursor, of, one) for one in given], pa.binary())
    encoding = "text" if form == "text" else "binary"
    found = POSTGRES_VALUES.converted(array, encoding, column, wanted("c", as_type, with_ends=with_ends))
    assert not found.values[-1].is_valid
    return Converted(found.values[:-1], None if found.unfit is None else found.unfit[:-1])


def sent(cursor: Any, of: str, text: str | None) -> bytes | None:
    """A value in its type's send format, as COPY gives it."""
    if text is None:
        return None
    literal = text.replace("'", "''")
    with cursor.copy(f"COPY (SELECT '{literal}'::{of}) TO STDOUT (FORMAT binary)") as copy:
        data = b"".join(copy)
    length = int.from_bytes(data[21:25], "big")
    return bytes(data[25 : 25 + length])


def test_infinities_are_the_ends_of_the_integers_for_who_wants_them(databases: Any) -> None:
    wishes = {
        "date": (["infinity", "-infinity", "2000-01-01"], pa.date32(), [2**31 - 1, -(2**31) + 1, 10957]),
        "timestamp": (["infinity", "-infinity"], pa.timestamp("us"), [2**63 - 1, -(2**63) + 1]),
        "time": (["24:00", "00:00"], pa.time64("us"), [86_400_000_000, 0]),
    }
    for of, (texts, as_type, numbers) in wishes.items():
        for form in ("text", "sent"):
            found = converted(databases.source, form, of, texts, as_type, with_ends=True)
            assert found.unfit is None
            assert found.values.view(pa.int32() if of == "date" else pa.int64()).to_pylist() == numbers


def test_composite_values_of_one_field(databases: Any) -> None:
    with connect(databases.source) as connection:
        connection.execute("CREATE TYPE pg_temp.one AS (a int)")
        rows = connection.execute(
            "SELECT v::text FROM (VALUES (ROW(NULL)::pg_temp.one), (ROW(1)::pg_temp.one), (NULL)) r (v)"
        )
        texts = pa.array([text for (text,) in rows.fetchall()], pa.string())
    as_type = pa.struct([("a", pa.int32())])
    column = Column(1, "c", DataType("shop.one", "shop", "one"))
    found = POSTGRES_VALUES.converted(texts, "text", column, wanted("c", as_type))
    assert found.values.to_pylist() == [{"a": None}, {"a": 1}, None] and found.unfit is None


TEXTS = {
    "boolean": ["t", "f"],
    "bytea": [r"\x00ff"],
    '"char"': ["a", r"\377"],
    "name": ["n"],
    "oid": ["4294967295"],
    "tid": ["(3,7)"],
    "xid8": ["12345678901"],
    "point": ["(1,-2.5)"],
    "lseg": ["[(1,2),(3,4)]"],
    "path": ["[(1,2),(3,4)]", "((1,2),(3,4))"],
    "box": ["(3,4),(1,2)"],
    "polygon": ["((1,2),(3,4),(5,6))"],
    "line": ["{1,2,3}"],
    "circle": ["<(1,2),3.5>"],
    "money": ["$1,234.50", "-$0.07"],
    "macaddr": ["08:00:2b:01:02:03"],
    "inet": ["10.0.0.1/8", "::ffff:1.2.3.4"],
    "bit(3)": ["101"],
    "date": ["0044-03-15 BC", "infinity", "12000-01-01", "-infinity"],
    "timestamp": ["2020-01-02 03:04:05.06", "0001-01-01 00:00:00 BC", "infinity", "2000-01-01 00:35:47.483647"],
    "timestamptz": ["2020-01-02 03:04:05+00", "-infinity"],
    "timetz": ["01:02:03.5+05:30"],
    "pg_lsn": ["1/16B3748"],
    "tsvector": ["'a':1A,2 'it''s' 'z':3C"],
    "interval": [
        "1 year 2 mons -3 days -04:05:06.07",
        "infinity",
        "-infinity",
        "00:00:00",
        "-1 years +2 days",
        "178956970 years 7 mons 2147483647 days 00:00:00.000001",
        "-1 days +00:00:00.5",
        "1 mon 1 day",
    ],
    "interval[]": ['{"1 year -2 days +300:00:00",NULL}'],
    "jsonb": ['{"a": [1, null]}'],
    "jsonpath": ['$."a"'],
    "pg_snapshot": ["10:20:10,14"],
    "int4range": ["[1,5)", "empty", "(,5)", "[1,)"],
    "numrange": ["(1.50,2]"],
    "daterange": ["[2020-01-01,infinity)"],
    "tsrange": ['["2020-01-01 00:00:00","2020-01-02 00:00:00"]'],
    "int8multirange": ["{[1,3),[5,7)}", "{}"],
    "tstzmultirange": ['{["2020-01-01 00:00:00+00",)}'],
    "integer[]": ["{1,NULL,-3}", "{{1,2},{3,4}}", "[0:1]={5,6}", "{}"],
    "text[]": [r'{"a,b",NULL,"NULL","","q\"\\"}'],
    "box[]": ["{(3,4),(1,2);(7,8),(5,6)}"],
    "timestamp[]": ['{"2020-01-01 00:00:00"}'],
    "numrange[]": ['{"[1,2)",empty}'],
    "float8[]": ["{0.1,1e-07,NaN}"],
}


def test_the_text_of_a_value_in_send_format_is_the_server_s(databases: Any) -> None:
    for of, texts in TEXTS.items():
        found = converted(databases.source, "sent", of, texts, pa.string())
        assert found.values.to_pylist() == texts, of
        assert found.unfit is None


def test_the_server_s_own_domains_are_written_as_what_is_below_them() -> None:
    column = Column(1, "c", DataType("information_schema.time_stamp", "information_schema", "time_stamp"))
    found = POSTGRES_VALUES.converted(pa.array([0, None], pa.int64()), "native", column, wanted("c", pa.string()))
    assert found.values.to_pylist() == ["2000-01-01 00:00:00+00", None]


def test_numbers_and_texts_of_a_server_in_arrays(databases: Any) -> None:
    """Thousands of floats and odd texts that the server writes itself, compared with what is written here."""
    queries = {
        "float8": "SELECT (random() - 0.5) * 10 ^ (i % 40 - 20) AS v FROM generate_series(1, 2000) i",
        "float4": "SELECT ((random() - 0.5) * 10 ^ (i % 40 - 20))::float4 AS v FROM generate_series(1, 2000) i",
        "text[]": """SELECT ARRAY[chr(i) || E'"\\\\', NULL, chr(i)] AS v FROM generate_series(1, 1000) i""",
        "date": "SELECT '4713-01-01 BC'::date + i * 997 AS v FROM generate_series(1, 3000) i",
        "timestamp": "SELECT '4000-01-01 BC'::timestamp + i * interval '997 days 1.0001 s' AS v"
        " FROM generate_series(1, 3000) i",
        "tsvector": "SELECT to_tsvector('simple', chr(i) || ' b''c d ' || i) AS v FROM generate_series(40, 500) i",
    }
    with connect(databases.source) as connection:
        connection.execute("SET extra_float_digits = 1")
        connection.execute("SET DateStyle = 'ISO, YMD'")
        for of, query in queries.items():
            send = {"float8": "float8send", "float4": "float4send", "text[]": "array_send", "date": "date_send",
                    "timestamp": "timestamp_send", "tsvector": "tsvectorsend"}[of]  # fmt: skip
            rows = connection.execute(
                f"SELECT format('%s', v), {send}(v) FROM (SELECT v FROM ({query}) r OFFSET 0) q"
            ).fetchall()
            column = Column(1, "c", DataType(of, "pg_catalog", of))
            read = POSTGRES_VALUES.converted(
                pa.array([one for _, one in rows], pa.binary()), "binary", column, wanted("c", pa.string())
            )
            assert read.values.to_pylist() == [text for text, _ in rows], of
