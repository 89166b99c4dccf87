"""Values reach a DuckDB file typed: those of a load and those of the log, which has them in its own formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.trail.store import Trail
from tests.conformance import places
from tests.conftest import Databases

COLUMNS = {
    "b": ("boolean", "true"),
    "i": ("integer", "-7"),
    "n": ("numeric(12,2)", "12.50"),
    "m": ("numeric", "'NaN'"),
    "t": ("text", "'it''s'"),
    "c": ("character(4)", "'ab'"),
    "y": ("bytea", r"'\x00ff'"),
    "u": ("uuid", "'7f9c24e8-3b12-4fef-91e0-56a2d5a0b3d1'"),
    "d": ("date", "'0044-03-15 BC'"),
    "e": ("date", "'infinity'"),
    "h": ("time", "'24:00'"),
    "s": ("timestamp", "'-infinity'"),
    "z": ("timestamptz", "'2026-11-27 10:00:00.5+02'"),
    "v": ("interval", "'1 year -2 days 3 hours'"),
    "w": ("interval[]", "'{-1 mon,NULL}'"),
    "j": ("jsonb", """'{"a": [1, null]}'"""),
    "a": ("text[]", """'{"x,y",NULL}'"""),
    "r": ("tstzrange", "'[2026-01-01,)'"),
    "f": ("real", "0.1"),
    "o": ("oid", "4294967295"),
    "p": ("inet", "'10.0.0.1/8'"),
}
KEYLESS, TYPED = TableName("public", "keyless"), TableName("public", "typed")


@pytest.mark.parametrize("more", ["", "alter table typed add q tsquery"])
def test_a_row_of_the_log_is_the_row_of_a_load(databases: Databases, tmp_path: Path, more: str) -> None:
    """With a type that is not sent in binary all values of the log are texts."""
    columns = ", ".join(f"{name} {of}" for name, (of, _) in COLUMNS.items())
    values = ", ".join(value for _, value in COLUMNS.values())
    names = ", ".join(COLUMNS)
    place = places.duckdb(tmp_path, databases.source)
    place.start(
        f"create table typed (id int primary key, {columns})",
        f"insert into typed (id, {names}) values (1, {values})",
        f"create table keyless ({columns})",
        *([more] if more else []),
    )
    place.replica.at_source(
        f"insert into typed (id, {names}) values (2, {values})",
        f"insert into keyless values ({values}), ({values})",
        "insert into typed (id) values (3)",
    )
    place.replica.replicate()
    place.replica.at_source(
        "update typed set n = n + 1, t = null where id = 2; update typed set n = n - 1, t = 'it''s' where id = 2",
        "delete from keyless where ctid = '(0,1)'; delete from typed where id = 3",
    )
    place.replica.settle()
    loaded, logged = sorted(place.read(TYPED) or [], key=lambda row: str(row["id"]))
    assert {**loaded, "id": ""} == {**logged, "id": ""}
    (left,) = place.read(KEYLESS) or []
    assert left == {name: loaded[name] for name in COLUMNS}
    assert (loaded["m"], loaded["v"], loaded["h"]) == ("NaN", "1 year -2 days +03:00:00", "24:00:00")
    assert ("binary" in encodings(place)) is not bool(more)


def test_rows_are_found_by_keys_that_arrow_does_not_compare(databases: Databases, tmp_path: Path) -> None:
    keys = {
        "date": ["infinity", "-infinity", "0044-03-15 BC", "2020-01-01"],
        "time": ["24:00", "00:00", "12:00", "13:00"],
        "timestamptz": ["infinity", "-infinity", "0044-03-15 00:00+00 BC", "2020-01-01 00:00+00"],
        "float8": ["NaN", "-0", "Infinity", "1"],
    }
    place = places.duckdb(tmp_path, databases.source)
    place.start(*(f"create table {of}s (k {of} primary key, n int)" for of in keys))
    place.replica.at_source(*(f"insert into {of}s values ('{one}', 1)" for of in keys for one in keys[of]))
    place.replica.settle()
    place.replica.at_source(*(f"update {of}s set n = n + 1" for of in keys))
    place.replica.settle()
    assert [[row["n"] for row in place.read(TableName("public", f"{of}s")) or []] for of in keys] == [["2"] * 4] * 4
    place.replica.at_source(*(f"delete from {of}s" for of in keys))
    place.replica.settle()
    assert not any(place.read(TableName("public", f"{of}s")) for of in keys)


def encodings(place: places.Place) -> set[str]:
    """How the log has the values of columns of the typed table."""
    with flow.open_channel(place.replica.file, InProcess()) as run:
        segments = Trail(run.channel.trail, run.channel.name).segments(run.epoch)
        found = [file for one in segments for file in one.files() if file.name == TYPED.name]
        return {column.encoding for file in found for column in file.columns}
