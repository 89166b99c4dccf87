"""Values at the ends of their types reach a DuckDB file by load and by log, and rows are found there by them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance import places
from tests.conftest import Databases
from tests.histories.other_engines.duckdb_files import file_difference

TYPES = (
    "create type mood as enum ('', 'so so', 'NULL', '{a,b}')",
    'create type pair as (a int, "b c" text)',
    "create domain price as numeric(12,2) check (value >= -1)",
    "create domain amount as numeric",
    "create domain moment as timestamptz",
    "create domain moods as mood",
    "create domain list as int[]",
)
VALUES = {
    "boolean": ["true", "false"],
    "smallint": ["-32768", "32767"],
    "integer": ["-2147483648", "2147483647"],
    "bigint": ["-9223372036854775808", "9223372036854775807"],
    "oid": ["0", "4294967295"],
    "numeric": ["NaN", "Infinity", "-Infinity", "0.00", "-0.00010", "1e-50", "1" * 100 + "." + "7" * 90, "1e300"],
    "numeric(38,0)": ["9" * 38, "-" + "9" * 38, "0"],
    "numeric(38,38)": ["0." + "9" * 38, "-0." + "0" * 37 + "1"],
    "numeric(18,4)": ["99999999999999.9999", "-0.0001"],
    "numeric(60,10)": ["NaN", "9" * 50 + "." + "9" * 10, "0"],
    "numeric(4,-2)": ["999900", "-100", "0"],
    "numeric(3,6)": ["0.000999", "-0.000001"],
    "real": ["NaN", "Infinity", "-Infinity", "-0", "1e-45", "3.4028235e38", "0.1"],
    "double precision": ["NaN", "Infinity", "-Infinity", "-0", "5e-324", "1.7976931348623157e308", "0.1"],
    "money": ["-92233720368547758.08", "92233720368547758.07", "0"],
    "text": ["", "NULL", "null", 'it\'s \\ "q"', "\\x00", "a\tb\nc\r", "\U0001f600é", "{}", " "],
    "varchar(5)": ["", "  a  ", "\U0001f600\U0001f600"],
    "character(4)": ["", "a", "a  b"],
    '"char"': ["", "a", "\\200"],
    "name": ["", "x" * 63],
    "bytea": ["\\x", "\\x00", "\\xff00", "\\x5c78", "\\x" + "ab" * 3000],
    "date": ["-infinity", "infinity", "4713-01-01 BC", "0001-12-31 BC", "0001-01-01", "5874897-12-31", "1970-01-01"],
    "time": ["00:00", "24:00", "23:59:59.999999"],
    "time(0)": ["24:00", "12:00"],
    "timetz": ["24:00-15:59:59", "00:00+15:59", "12:00:00.5+05:30", "12:00:00.5+00"],
    "timestamp": [
        "-infinity",
        "infinity",
        "4713-01-01 00:00:00.000001 BC",
        "0001-01-01",
        "294246-12-31 23:59:59.999999",
        "1999-12-31 23:59:59.999999",
    ],
    "timestamptz": [
        "-infinity",
        "infinity",
        "4713-01-02 00:00:00+00 BC",
        "294246-12-31 00:00+00",
        "2026-10-25 02:30+02",
    ],
    "interval": [
        "178000000 years",
        "-178000000 years",
        "1 mon -1 day 00:00:00.000001",
        "-1 day +24:00:01",
        "0",
        "infinity",
        "-infinity",
        "2562047788:00:54.775807",
    ],
    "uuid": ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
    "inet": ["10.0.0.1/8", "10.0.0.1", "::ffff:1.2.3.4", "2001:db8::1/64", "::", "0.0.0.0/0"],
    "cidr": ["10.0.0.0/8", "10.0.0.1/32", "::/0", "2001:db8::/32"],
    "macaddr": ["08:00:2b:01:02:03"],
    "macaddr8": ["08:00:2b:01:02:03:04:05"],
    "bit(3)": ["000", "101"],
    "bit varying": ["", "1", "0101010101"],
    "jsonb": ["{}", "null", '"x"', '{"a": [1, null, "\\u00e9"], "b": 1.10}', "1e400", "[]"],
    "pg_lsn": ["0/0", "FFFFFFFF/FFFFFFFF"],
    "tsvector": ["", "'a b':1A,2 'it''s':16383"],
    "integer[]": ["{}", "{NULL}", "{1,NULL,3}", "{{1,2},{3,NULL}}", "[-1:0]={1,2}"],
    "text[]": ["{}", '{"",NULL,"NULL","a\\"b\\\\","x y"}', '{{a,b},{"{",","}}'],
    "numeric[]": ["{NaN,Infinity,1.00,NULL}"],
    "timestamptz[]": ['{infinity,"4713-01-02 00:00:00+00 BC",NULL}'],
    "date[]": ["{infinity,-infinity,NULL}"],
    "bytea[]": ['{"\\\\x","\\\\x00ff"}'],
    "interval[]": ['{"1 mon",NULL,"-1 day +24:00:01"}'],
    "boolean[]": ["{t,f,NULL}"],
    "real[]": ["{-0,NaN,0.1}"],
    "int4range": ["empty", "(,)", "[1,5)", "[1,)"],
    "numrange": ["empty", "[1.50,2.0]", "(,NaN]"],
    "tstzrange": ["empty", "[-infinity,infinity]", '["2026-01-01 00:00+00",)'],
    "daterange": ["empty", "(,2026-01-01)"],
    "int4multirange": ["{}", "{[1,2),[5,)}"],
    "mood": ["", "so so", "NULL", "{a,b}"],
    "mood[]": ['{"","NULL",NULL,"{a,b}"}'],
    "pair": ["(,)", '(1,"")', '(-1,"a ""b"" \\\\ ,")'],
    "pair[]": ['{"(1,\\"\\")",NULL}'],
    "price": ["-1", "9999999999.99"],
    "amount": ["NaN", "1.000", "1e100"],
    "moment": ["infinity", "0044-03-15 00:00+00 BC"],
    "list": ["{}", "{NULL,1}"],
}
OTHERS = {
    "moods": ["", "so so"],
    "json": ["{}", ' { "a" : 1.0 ,\n"a": null } ', "null", '"\\u00e9"', "1e400"],
    "point": ["(-0,1e300)", "(NaN,Infinity)"],
    "box": ["(1,1),(0,0)"],
    "path": ["[(0,0),(1,1)]", "((0,0),(1,1))"],
    "polygon": ["((0,0),(1,1),(1,0))"],
    "circle": ["<(0,0),1.5>"],
    "line": ["{1,-1,0}"],
    "lseg": ["[(0,0),(1,1)]"],
    "jsonpath": ["$.a[*] ? (@ > 1)", "strict $"],
    "json[]": ['{"{\\"a\\": 1}",NULL}'],
}


def quoted(value: str, of: str) -> str:
    return "'{}'::{}".format(value.replace("'", "''"), of)


@pytest.mark.thorough
@pytest.mark.parametrize("given", ["binary", "text"])
def test_values_at_the_ends_survive(databases: Databases, tmp_path: Path, given: str) -> None:
    """wide and whole have a column of each type, whole no key; each type that can be one is the key of a table, too."""
    every = {f"c{n}": (of, [quoted(v, of) for v in values]) for n, (of, values) in enumerate((VALUES | OTHERS).items())}
    keyed = {f"k{n}": every[f"c{n}"] for n in range(len(VALUES))}
    columns = ", ".join(f"{name} {of}" for name, (of, _) in every.items())
    rows = [
        ", ".join(values[place] if place < len(values) else "null" for _, values in every.values())
        for place in range(max(len(values) for _, values in every.values()))
    ]
    inserts = [f"insert into {name} values ({v}, {v}, 0)" for name, (_, values) in keyed.items() for v in values]
    inserts += [f"insert into wide values ({place}, {row})" for place, row in enumerate(rows)]
    inserts += [f"insert into whole values ({row}), ({row})" for row in rows]
    place = places.duckdb(tmp_path, databases.source, capture={"format": given})
    place.start(
        *TYPES,
        *(f"create table {name} (k {of} primary key, v {of}, n int)" for name, (of, _) in keyed.items()),
        f"create table wide (id int primary key, {columns})",
        f"create table whole ({columns}); alter table whole replica identity full",
        *inserts,
    )

    def step(*statements: str) -> None:
        place.replica.at_source(*statements)
        place.replica.replicate()
        assert not file_difference(databases.source, f"duckdb://{tmp_path}/target.duckdb", [0]), statements[0]

    keys = [(name, values[0], values[-1]) for name, (_, values) in keyed.items()]
    step("select 'a load'")
    step(*(f"update {name} set n = n + 1" for name in keyed), *(f"update wide set {name} = null" for name in every))
    step(*(f"delete from {name}" for name in [*keyed, "wide"]), "delete from whole where ctid in ('(0,1)', '(0,4)')")
    step(*inserts)
    step(*(f"update {name} set v = null" for name in keyed), "delete from whole where c0 is null")
    step(*(f"update {name} set v = k" for name in keyed))
    step(*(f"delete from {name} where k = {first}" for name, first, _ in keys))
    step(*(f"update {name} set k = {first} where k = {last}" for name, first, last in keys))
    step(*(f"delete from {name}" for name in [*keyed, "whole"]))
