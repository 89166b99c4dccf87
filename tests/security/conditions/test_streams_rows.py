"""Rows whose values Python does not have, or can't compute with: clients of Oracle Streams decide as SQL does.

Nobody who may write rows stops a client by them, or has it decide otherwise than the source would.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.streams.messages import RowLcr
from tests.flow.streams.streams_channel import APPLY, CAPTURE, StreamsChannel, streams_channel
from tests.support.refusing import ask
from tests.support.replica import run

DATES = ("'infinity'", "'-infinity'", "'4713-01-01 BC'", "'50000-01-01'", "'2020-01-02'", "'2020-01-01'", "NULL")
TIMES = (*DATES, "'294276-12-31 23:59:59.999999'", "'9999-12-31 23:59:59.999999'", "'0001-01-01 00:00:00.000001'")
NUMBERS = ("'NaN'", "'infinity'", "'-infinity'", "1e131071", "-1e131071", "1e-1000", "repeat('9', 60)::numeric", "NULL")
FLOATS = ("'NaN'", "'infinity'", "'-infinity'", "1e300", "5e-324", "-7.5", "2.5")
SINCE = "TO_DATE('2020-01-01', 'YYYY-MM-DD')"
TABLES = {
    "date": ("date", f"v > {SINCE}", DATES),
    "ages": ("timestamp", f"v >= {SINCE} AND v <> TO_DATE('9999-12-31', 'YYYY-MM-DD')", TIMES),
    "zone": ("timestamptz", f"v > {SINCE} OR v < TO_DATE('0001-01-01', 'YYYY-MM-DD')", TIMES),
    "pair": ("timestamp", f"v < w AND (v <> {SINCE} OR w <> {SINCE})", TIMES),
    "least": ("timestamp", f"LEAST(v, {SINCE}) = v", TIMES),
    "sized": ("numeric(5,2)", "v > 5", ("'NaN'", "999.99", "-999.99", "NULL")),
    "sum": ("numeric", "v + 1 > 1 AND v + 1 > v", NUMBERS),
    "product": ("numeric", "v * 2 - v > 5 AND v <> 4", NUMBERS),
    "digits": ("numeric", f"v + 1 = {10**60}", NUMBERS),
    "absolute": ("numeric", f"ABS(v) = {10**60 - 1}", NUMBERS),
    "rounded": ("numeric", "ROUND(v) > 1 OR TRUNC(v, 2) < -1", NUMBERS),
    "remainder": ("numeric", "MOD(v, 7) > 1", NUMBERS),
    "sign": ("numeric", "SIGN(v) > 0 AND FLOOR(v) > 3 AND CEIL(v) > 3", NUMBERS),
    "greatest": ("numeric", "GREATEST(v, 5) > 5 AND NULLIF(v, 7) > 5", NUMBERS),
    "float": ("double precision", "v > 5 OR v < -5", FLOATS),
}  # fmt: skip
"""By table: type of the columns v and w, a condition that SQL reads as Oracle does, and values of v."""
AS_SQL = {f"TO_DATE('{day}', 'YYYY-MM-DD')": f"'{day}'" for day in ("2020-01-01", "9999-12-31", "0001-01-01")}


def begun(databases: Any, folder: Path, *calls: dict[str, Any], **more: Any) -> StreamsChannel:
    target = {"name": "site", "location": databases.target, "apply": "app"}
    channel = streams_channel(folder, databases.source, *calls, targets=[target], **more)
    channel.at_source("ALTER DATABASE " + databases.source.rsplit("/", 1)[1] + " SET timezone = 'UTC'")
    channel.at_source("CREATE SCHEMA hr", "CREATE SCHEMA oe", "CREATE TABLE hr.other (id int PRIMARY KEY)")
    return channel


def calls(subsets_at: str, *tables: dict[str, Any]) -> list[dict[str, Any]]:
    """Subset rules at one client; the other takes the schema."""
    base, client = (APPLY, CAPTURE) if subsets_at == "capture" else (CAPTURE, APPLY)
    rules = [{"add_table_rules": {"table_name": "hr.other", **client}}]
    return [
        {"add_schema_rules": {"schema_name": "hr", **base}},
        *rules,
        *({k: {**v, **client} for k, v in one.items()} for one in tables),
    ]


def same(databases: Any, name: str, condition: str) -> bool:
    for text, sql in AS_SQL.items():
        condition = condition.replace(text, sql)
    wanted = ask(databases.source, f"SELECT id, v::text FROM hr.t_{name} WHERE {condition} ORDER BY 1")
    found = ask(databases.target, f"SELECT id, v::text FROM hr.t_{name} ORDER BY 1")
    assert found == wanted, (name, condition)
    return bool(wanted)


@pytest.mark.parametrize("subsets_at", ["capture", "apply"])
def test_conditions_decide_about_every_value_as_sql_does(subsets_at: str, databases: Any, tmp_path: Path) -> None:
    """Rows that are loaded, that come, that come into the subset by an update, and that leave it."""
    rules = [{"add_subset_rules": {"table_name": f"hr.t_{n}", "dml_condition": c}} for n, (_, c, _) in TABLES.items()]
    channel = begun(databases, tmp_path, *calls(subsets_at, *rules))
    for name, (kind, _, values) in TABLES.items():
        channel.at_source(
            f"CREATE TABLE hr.t_{name} (id int PRIMARY KEY, v {kind}, w {kind})",
            f"ALTER TABLE hr.t_{name} REPLICA IDENTITY FULL",
            *(
                f"INSERT INTO hr.t_{name} VALUES ({i}, {v}, {w})"
                for i, v in enumerate(values)
                for w in values[i % 3 : i % 3 + 1]
            ),
        )
    channel.activate(load=True)
    for name, (_, condition, _) in TABLES.items():
        assert same(databases, name, condition)
        channel.at_source(
            f"INSERT INTO hr.t_{name} SELECT id + 100, v, w FROM hr.t_{name}",
            f"UPDATE hr.t_{name} a SET v = (SELECT v FROM hr.t_{name} WHERE id = 100 + (a.id + 1) % 4) WHERE id < 100",
            f"UPDATE hr.t_{name} SET id = id + 1000 WHERE id % 2 = 0",
            f"DELETE FROM hr.t_{name} WHERE id = 1",
        )
    channel.at_source("INSERT INTO hr.other VALUES (1)")
    channel.stage(flow.replicate)
    assert ask(databases.target, "TABLE hr.other") == [(1,)]
    for name, (_, condition, _) in TABLES.items():
        same(databases, name, condition)


@pytest.mark.parametrize("subsets_at", ["capture", "apply"])
def test_a_column_that_a_condition_of_another_table_names_stops_nothing(
    subsets_at: str, databases: Any, tmp_path: Path
) -> None:
    rule = {"add_subset_rules": {"table_name": "hr.sub", "dml_condition": "v > 5"}}
    channel = begun(databases, tmp_path, *calls(subsets_at, rule, {"add_schema_rules": {"schema_name": "hr"}}))
    channel.at_source("CREATE TABLE hr.sub (id int PRIMARY KEY, v int)", "ALTER TABLE hr.sub REPLICA IDENTITY FULL")
    channel.activate(load=True)
    kinds = ("date", "numeric(3,1)", "date[]", "interval")
    for number, (kind, value) in enumerate(zip(kinds, ("infinity", "NaN", "{infinity}", "1 y"), strict=True)):
        channel.at_source(f"CREATE TABLE hr.e{number} (id int PRIMARY KEY, v {kind})")
        channel.stage(flow.replicate)
        channel.at_source(f"INSERT INTO hr.e{number} VALUES (1, '{value}')", f"INSERT INTO hr.other VALUES ({number})")
        channel.stage(flow.replicate)
        assert ask(databases.target, "SELECT max(id) FROM hr.other") == [(number,)]
        assert ask(databases.target, f"SELECT v::text FROM hr.e{number}") == [(value if value != "1 y" else "1 year",)]


SEEN: list[Any] = []


def seen(lcr: RowLcr, apply: Any) -> None:
    SEEN.append((lcr.new.get("d"), lcr.new.get("n")))
    apply.execute(lcr)


def test_a_handler_gets_what_python_lacks_as_a_text(databases: Any, tmp_path: Path) -> None:
    handler = {"set_dml_handler": {"object_name": "hr.t", "operation_name": "DEFAULT", "user_procedure": "hr.seen"}}
    both = [{"add_schema_rules": {"schema_name": "hr", **of}} for of in (CAPTURE, APPLY)]
    channel = begun(databases, tmp_path, *both, handler, functions={"hr.seen": f"{__name__}:seen"})
    channel.at_source("CREATE TABLE hr.t (id int PRIMARY KEY, d date, n numeric(5,2))")
    channel.activate(load=True)
    SEEN.clear()
    for number, (d, n) in enumerate((("infinity", "NaN"), ("0044-03-15 BC", "1.50"), ("2024-01-31", "2"))):
        channel.at_source(f"INSERT INTO hr.t VALUES ({number}, '{d}', '{n}')")
    channel.at_source("INSERT INTO hr.other VALUES (1)")
    channel.stage(flow.replicate)
    assert [d for d, _ in SEEN] == ["infinity", "0044-03-15 BC", date(2024, 1, 31)]
    assert SEEN[0][1].is_nan() and SEEN[1][1] == Decimal("1.5")
    query = "SELECT id, d::text, n FROM hr.t ORDER BY 1"
    assert str(ask(databases.target, query)) == str(ask(databases.source, query))
    assert ask(databases.target, "TABLE hr.other") == [(1,)]
    run(databases.target, "TRUNCATE hr.t")
