"""HVR's TableProperties, ColumnProperties, Restrict and Transform, said for all tables, reach what comes later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.replica import Replica, channel_file
from tests.support.transforming import OURS

SAID = {
    "table_properties": [{"tables": "*_t", "name": "late"}, {"tables": "*", "name": "first"}],
    "column_properties": [{"columns": "hidden", "absent": True}, {"columns": "amount", "name": "price"}],
    "restrict": [{"condition": "region = 'EU'"}],
    "transform": [{"columns": ["note", "more"], "function": f"{OURS}:masked"}],
}


def table(name: str) -> tuple[str, ...]:
    return (
        f"CREATE TABLE {name} (id int PRIMARY KEY, region text, amount int, note text)",
        f"INSERT INTO {name} VALUES (1, 'EU', 10, 'one'), (2, 'US', 20, 'two')",
    )


@pytest.mark.req("HVR-O-16")
@pytest.mark.parametrize("defaults", ["own", "hvr"])
def test_a_new_column_and_a_new_table(databases: Any, tmp_path: Path, defaults: str) -> None:
    """The table takes its name, its columns theirs or none, its rows the condition, its values the function."""
    said = {**SAID, "defaults": defaults}
    replica = Replica(
        databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target, **said)
    )
    replica.at_source(*table("a"))
    replica.activate()
    assert replica.rows("SELECT * FROM first") == [(1, "EU", 10, "o*3")]
    replica.at_source(
        "ALTER TABLE a ADD hidden text DEFAULT 'h', ADD more text DEFAULT 'more'",
        "INSERT INTO a VALUES (3, 'EU', 30, 'three', 'x', 'extra'), (4, 'US', 40, 'four', 'x', 'extra')",
        "UPDATE a SET region = 'EU' WHERE id = 2",
        *table("later_t"),
        "ALTER TABLE later_t ADD hidden int",
        "INSERT INTO later_t VALUES (3, 'EU', 30, 'three', 3)",
        "UPDATE later_t SET region = 'EU', note = 'new' WHERE id = 2",
    )
    for _ in range(2):
        replica.settle()
        assert replica.rows("SELECT id, region, price, note, more FROM first ORDER BY id") == [
            (1, "EU", 10, "o*3", "m*4"),
            (2, "EU", 20, "t*3", "m*4"),
            (3, "EU", 30, "t*5", "e*5"),
        ]
        assert replica.rows("SELECT * FROM late ORDER BY id") == [
            (1, "EU", 10, "o*3"),
            (2, "EU", 20, "n*3"),
            (3, "EU", 30, "t*5"),
        ]
        names = "SELECT attname::text FROM pg_attribute WHERE attrelid = 'late'::regclass AND attnum > 0"
        assert {name for (name,) in replica.rows(f"{names} AND NOT attisdropped")} == {"id", "region", "price", "note"}
        replica.refresh("public.a", "public.later_t")
