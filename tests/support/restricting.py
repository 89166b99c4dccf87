"""Channels whose targets take only some rows of a table `t`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import yaml

from tests.support.replica import Replica, channel_file

IS_EU = "region = 'EU' AND amount > 100"
EU = {"tables": "t", "condition": IS_EU}
TABLE = "CREATE TABLE t (id int PRIMARY KEY, region text, amount numeric(9,2), note text)"
FULL = "ALTER TABLE t REPLICA IDENTITY FULL"
LEAVE = {"replica_identity": "leave"}
"""Of the source: nobody but a person sets it."""
ROWS = "INSERT INTO t VALUES (1, 'EU', 200, 'in'), (2, 'EU', 50, 'cheap'), (3, 'US', 300, 'far'), (4, NULL, 400, 'no')"


COMING_AND_GOING = (
    "UPDATE t SET amount = 150 WHERE id = 2",
    "UPDATE t SET region = CASE region WHEN 'EU' THEN 'US' ELSE 'EU' END WHERE id < 100",
    "ALTER TABLE t ADD z int DEFAULT 4",
    "DELETE FROM t WHERE id % 3 = 0",
)
NO_REGION = ({"columns": "region", "absent": True}, {"columns": "amount", "name": "region"})


def begun(databases: Any, folder: Path, *restrict: Any, **more: Any) -> Replica:
    """An active channel with these restrictions; without statements a table `t`, of whose rows the first is wanted."""
    return active(databases, folder, restrict=list(restrict), **more)


def active(databases: Any, folder: Path, statements: tuple[str, ...] = (), **sections: Any) -> Replica:
    """An active channel whose file has these sections; without statements a table `t` with four rows."""
    file = channel_file(folder, databases.source, databases.target, **sections)
    made = Replica(databases.source, databases.target, file)
    made.at_source(*(statements or (TABLE, FULL, ROWS)))
    made.activate()
    made.check_equal()
    return made


def now(replica: Replica, **sections: Any) -> None:
    """The channel file says this from here on."""
    data = {**yaml.safe_load(replica.file.read_text()), **sections}
    replica.file.write_text(yaml.safe_dump(data))


def at_source(replica: Replica, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(replica.source) as connection:
        return connection.execute(query).fetchall()


def check(replica: Replica, condition: str = IS_EU, table: str = "t", columns: str = "*") -> None:
    """The target has these rows of the source, and no others."""
    wanted = f"SELECT row_to_json(x)::text FROM (SELECT {columns} FROM {table} WHERE {condition}) x ORDER BY 1"
    found = f"SELECT row_to_json(x)::text FROM (SELECT {columns} FROM {table}) x ORDER BY 1"
    assert replica.rows(found) == at_source(replica, wanted)


def settled(replica: Replica, condition: str = IS_EU, table: str = "t", columns: str = "*") -> Any:
    """One cycle; then as `check`."""
    told = replica.settle()
    check(replica, condition, table, columns)
    return told


def ids(replica: Replica, table: str = "t") -> list[int]:
    return [i for (i,) in replica.rows(f"SELECT id FROM {table} ORDER BY id")]
