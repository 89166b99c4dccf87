"""Defaults of columns hold in a DuckDB file, where they give the source's values; others are left out, and told."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from airflow_ddlrepl.engines.duckdb.connection.database import session
from airflow_ddlrepl.model.names import TableName
from tests.conformance import places
from tests.conftest import Databases

COLUMNS = {
    "whole": "int default 7",
    "small": "smallint default -3",
    "price": "numeric(9,2) default 1.5",
    "yes": "boolean default true",
    "word": "text default 'it''s'",
    "short": "varchar(9) default 'x'",
    "letter": "character(2) default 'ab'",
    "day": "date default '2020-02-29'",
    "at": "timestamp default '2020-02-29 01:02:03.5'",
    "mood": "mood default 'glad'",
    "bytes": "bytea default '\\x00ff'",
    "doc": "jsonb default '{\"a\": 1}'",
    "ratio": "double precision default 0.25",
    "any_number": "numeric default 1",
    "list": "int[] default '{1}'",
    "drawn": "serial",
    "computed": "text default upper('a' || current_user)",
}
LEFT_OUT = ("ratio", "any_number", "list", "drawn", "computed")
DEFAULTS = TableName("public", "defaults")
KEPT = [name for name in COLUMNS if name not in LEFT_OUT]


def inserted(place: places.Place, folder: Path, key: int) -> dict[str, str | None]:
    """What the file's defaults give a new row."""
    with session(f"duckdb://{folder}/target.duckdb") as connection:
        connection.execute(f"INSERT INTO public.defaults (id) VALUES ({key})")
    (row,) = (row for row in place.read(DEFAULTS) or [] if row["id"] == str(key))
    with session(f"duckdb://{folder}/target.duckdb") as connection:
        connection.execute(f"DELETE FROM public.defaults WHERE id = {key}")
    return row


def at_source(place: places.Place, key: int) -> dict[str, str | None]:
    """What the source's give one; it is taken back."""
    with psycopg.connect(place.replica.source) as connection:
        cursor = connection.execute(f"insert into defaults (id) values ({key}) returning *".encode())
        texts = ", ".join(f'"{column.name}"::text' for column in cursor.description or ())
        row = connection.execute(f"select {texts} from defaults where id = {key}".encode()).fetchone()
        connection.rollback()
    assert row is not None and cursor.description is not None
    return {column.name: value for column, value in zip(cursor.description, row, strict=True)}


def same(place: places.Place, folder: Path, key: int, names: list[str]) -> None:
    ours, theirs = inserted(place, folder, key), at_source(place, key)
    spelled = {"t": "true", "\\x00ff": "\\x00\\xFF"}
    assert {name: ours[name] for name in names} == {
        name: spelled.get(theirs[name] or "", theirs[name]) for name in names
    }


@pytest.mark.parametrize("late", [False, True])
def test_a_default_gives_the_source_s_values(
    databases: Databases, tmp_path: Path, late: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Of a table that is loaded, or made by the log; after renames, other defaults, and another load."""
    columns = ", ".join(f"{name} {of}" for name, of in COLUMNS.items())
    made = ("create type mood as enum ('glad', 'sad')", f"create table defaults (id int primary key, {columns})")
    place = places.duckdb(tmp_path, databases.source)
    place.start(*(() if late else made))
    told = caplog.text
    if late:
        place.replica.at_source(*made)
        place.replica.capture()
        told = place.replica.plan().text()
        place.replica.replicate()
    for name in ("ratio", "any_number", "list", "computed"):
        assert f"column {name}: the default" in told
    same(place, tmp_path, 1, KEPT)
    assert {inserted(place, tmp_path, 1)[name] for name in LEFT_OUT} == {None}
    place.replica.at_source(
        "insert into defaults (id) values (2)",
        "update defaults set whole = 8 where id = 2",
        "alter table defaults alter whole set default 9, alter yes drop default, add more int default 11",
        "alter table defaults rename word to term",
    )
    place.replica.settle()
    names = [*(name for name in KEPT if name != "word"), "term", "more"]
    same(place, tmp_path, 3, names)
    assert inserted(place, tmp_path, 3)["yes"] is None
    place.replica.refresh("public.defaults")
    same(place, tmp_path, 4, names)
