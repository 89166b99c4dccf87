"""Two channels, there and back, whose targets have a Replicat: names and conflicts are by its parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.flow.both_directions.there_and_back import ANSWERS, Pair
from tests.support.replica import Replica, channel_file


def replicating(folder: Path, source: str, target: str, schemas: tuple[str, str], existing: str) -> Replica:
    folder.mkdir(exist_ok=True)
    maps = [{"source": f"{schemas[0]}.*", "target": f"{schemas[1]}.*", "conflicts": ANSWERS}]
    place = {"name": "warehouse", "location": target, "replicat": {"maps": maps}, "existing_tables": existing}
    file = channel_file(
        folder,
        source,
        target,
        channel=folder.name,
        source={"tables": [f"{schemas[0]}.*"]},
        targets=[place],
        adapt_ddl=[],
        capture={"ignore_sessions": {"names": ["ddlrepl*"]}},
    )
    return Replica(source, target, file)


def test_map_resolves_conflicts_and_schema_changes_return_under_other_names(databases: Any, tmp_path: Path) -> None:
    first, second = databases.source, databases.target
    there = replicating(tmp_path / "there", first, second, ("hr", "bk"), "refuse")
    there.at_source(
        "CREATE SCHEMA hr",
        "CREATE TABLE hr.t (id int PRIMARY KEY, v text, changed int, site int)",
        "INSERT INTO hr.t VALUES (1, 'a', 1, 0)",
    )
    there.at_target("CREATE SCHEMA bk")
    there.activate()
    back = replicating(tmp_path / "back", second, first, ("bk", "hr"), "replace")
    back.activate()
    pair = Pair(there, back)
    there.at_source("UPDATE hr.t SET v = 'there', changed = 3, site = 0 WHERE id = 1")
    back.at_source("UPDATE bk.t SET v = 'back', changed = 3, site = 1 WHERE id = 1")
    pair.turns()
    assert there.rows("SELECT * FROM bk.t") == back.rows("SELECT * FROM hr.t") == [(1, "back", 3, 1)]
    there.at_source(
        "ALTER TABLE hr.t ADD COLUMN w int", "CREATE TABLE hr.n (id int PRIMARY KEY, changed int, site int)"
    )
    there.replicate()
    back.at_source(
        "INSERT INTO bk.t VALUES (2, 'b', 4, 1, 7)",
        "INSERT INTO bk.n VALUES (1, 4, 1)",
        "ALTER TABLE bk.t ADD COLUMN x int",
        "INSERT INTO bk.t VALUES (3, 'b', 4, 1, 7, 8)",
    )
    assert back.replicate().adapt.changes == {"taken_over": 2, "add_column": 1}
    there.at_source("UPDATE hr.t SET x = 9, changed = 10 WHERE id = 1")
    assert there.replicate().adapt.changes == {"taken_over": 1}
    rows = [(1, "back", 10, 1, None, 9), (2, "b", 4, 1, 7, None), (3, "b", 4, 1, 7, 8)]
    assert there.rows("SELECT * FROM bk.t ORDER BY id") == back.rows("SELECT * FROM hr.t ORDER BY id") == rows
    assert back.rows("SELECT * FROM hr.n") == [(1, 4, 1)]
