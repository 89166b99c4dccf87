"""Values that differ though they are equal: keys that a DuckDB file has as texts, and -0."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance import places
from tests.conftest import Databases
from tests.histories.other_engines.duckdb_files import file_difference

EQUAL = {
    "numeric": ("1.0", "1.00"),
    "amount": ("1.0", "1.00"),
    "bpchar": ("a", "a  "),
    "interval": ("1 mon", "30 days"),
    "jsonb": ("1.0", "1.00"),
    "numrange": ("[1.0,2)", "[1.00,2)"),
    "numeric[]": ("{1.0}", "{1.00}"),
    "pair": ("(1.0,a)", "(1.00,a)"),
}


@pytest.mark.parametrize("given", ["binary", "text"])
def test_a_key_becomes_another_one_that_is_equal_to_it(databases: Databases, tmp_path: Path, given: str) -> None:
    place = places.duckdb(tmp_path, databases.source, capture={"format": given})
    columns = "n int, t text, f float8, r real"
    keyed = {f"k{n}": (of, *(f"'{v}'::{of}" for v in values)) for n, (of, values) in enumerate(EQUAL.items())}
    place.start(
        "create domain amount as numeric; create type pair as (a numeric, b text)",
        *(f"create table {name} (k {of} primary key, {columns})" for name, (of, *_) in keyed.items()),
        *(f"insert into {name} values ({a}, 0, 't', 0, '-0')" for name, (_, a, _) in keyed.items()),
    )

    def step(*texts: str) -> None:
        place.replica.at_source(*(one.format(t=name, a=a, b=b) for name, (_, a, b) in keyed.items() for one in texts))
        place.replica.settle()
        assert not file_difference(databases.source, f"duckdb://{tmp_path}/target.duckdb", [0]), texts[0]

    step("update {t} set f = -f, r = -r")
    step("update {t} set k = {b}, f = -f")
    step("update {t} set k = {a}, n = n + 1")
    step("delete from {t}; insert into {t} values ({b}, 7, 'u')")
    step("update {t} set n = 8", "update {t} set k = {a}", "update {t} set n = 9; update {t} set k = {b}, t = 'v'")
    step("delete from {t}")
    step("insert into {t} values ({a}, 7, 'u')", "update {t} set k = {b}", "delete from {t} where k = {a}")
    step("insert into {t} values ({b}, 7, 'u'); delete from {t}; insert into {t} values ({a}, 9, 'u')")
