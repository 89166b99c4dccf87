"""Rewinds of a channel with functions: loads hold the source's values, and each place gets those that it is to have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.replayable import captured, past_at, read, there_and_back
from tests.support.restricting import COMING_AND_GOING, EU, FULL, NO_REGION, ROWS, TABLE, now
from tests.support.transforming import MASKED, OURS, begun, check

ROWS_OF = "SELECT row_to_json(x)::text FROM t x ORDER BY 1"


@pytest.mark.parametrize("many", [False, True], ids=["one chunk", "several chunks"])
@pytest.mark.parametrize("absent", [False, True], ids=["all columns", "absent columns"])
@pytest.mark.parametrize("restrict", [False, True], ids=["all rows", "some rows"])
def test_a_place_is_filled_with_the_values_that_it_is_to_have(
    databases: Any, tmp_path: Path, past: str, absent: bool, many: bool, restrict: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if many:
        monkeypatch.setattr("airflow_ddlrepl.engines.chunks.MINIMUM_BYTES", 4 * 8192)
    said = list(NO_REGION) if absent else []
    more = f"INSERT INTO t SELECT i, 'EU', i, 'x' FROM generate_series(50, {8000 if many else 150}) i"
    replica = begun(
        databases,
        tmp_path,
        {**MASKED, "function": f"{OURS}:joined", "reads": "id|region|amount"},
        column_properties=said,
        statements=(TABLE, FULL, ROWS, more),
        restrict=[EU] if restrict else [],
        **past_at(past),
    )
    there_and_back(replica, past, COMING_AND_GOING, ROWS_OF)


def test_a_live_target_gets_back_its_own_values(databases: Any, tmp_path: Path, past: str) -> None:
    """They are given once, in the replay, by the target's function and not by that of the replay."""
    others = {**MASKED, "function": f"{OURS}:masked_otherwise", "targets": "past"}
    replica = begun(databases, tmp_path, {**MASKED, "targets": "warehouse"}, others, **past_at(past))
    replica.at_source("UPDATE t SET note = 'second' WHERE id = 2")
    before = captured(replica)
    replica.at_source("UPDATE t SET note = 'third' WHERE id = 2", "ALTER TABLE t ALTER amount TYPE bigint")
    captured(replica)
    replica.at_target("DELETE FROM t WHERE id = 1", "UPDATE t SET note = 'as it is' WHERE id = 3")
    assert replica.rewind(before, "warehouse").placed == {"public.t": 4}
    replica.check_equal()
    check(replica)
    replica.at_source("UPDATE t SET note = note || '!'")
    replica.settle()
    check(replica)
    replica.rewind(before)
    assert read(past, "SELECT note FROM t ORDER BY id") == [("IN",), ("SECOND",), ("FAR",), ("NO",)]


def test_tables_with_and_without_a_function_are_loaded_together(databases: Any, tmp_path: Path, past: str) -> None:
    """Also rows of a table whose log did not tell whole rows then."""
    tables = [f"CREATE TABLE t{number} (id int PRIMARY KEY, note text)" for number in range(6)]
    rows = [f"INSERT INTO t{number} VALUES (1, 'row {number}'), (2, NULL)" for number in range(6)]
    replica = begun(databases, tmp_path, statements=(*tables, *rows), **past_at(past))
    position = captured(replica)
    wanted = [f"ALTER TABLE t{number} REPLICA IDENTITY FULL" for number in (0, 2, 4)]
    replica.at_source(*wanted, *(f"UPDATE t{number} SET note = 'later'" for number in range(6)))
    now(replica, transform=[{**MASKED, "tables": "t0|t2|t4"}])
    after = captured(replica)
    for place, told, plain in ((position, "r*5", "row {}"), (after, "l*5", "later")):
        replica.rewind(place)
        for number in range(6):
            expected = told if number % 2 == 0 else plain.format(number)
            assert read(past, f"SELECT note FROM t{number} WHERE id = 1") == [(expected,)]


def test_a_rewind_gives_the_values_by_the_file_of_today(databases: Any, tmp_path: Path, past: str) -> None:
    """Of a moment when the file said something else. What is loaded on the way gets them, too."""
    replica = begun(databases, tmp_path, **past_at(past))
    first = captured(replica)
    replica.at_source("UPDATE t SET note = 'second' WHERE id = 2")
    now(replica, transform=[MASKED])
    second = captured(replica)
    replica.at_source("UPDATE t SET note = 'third' WHERE id = 2")
    third = captured(replica)
    for position, note in ((first, "c*5"), (second, "s*6"), (third, "t*5")):
        replica.rewind(position)
        assert read(past, "SELECT note FROM t WHERE id < 3 ORDER BY id") == [("i*2",), (note,)]
