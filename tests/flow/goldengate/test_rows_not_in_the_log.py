"""A statement keeps rows out of the log: its table is loaded again, whatever discards it or runs its text."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.support.replica import Make, Replica
from tests.support.replicating import START, replicat

MAPPED = {"include": [{"scope": "MAPPED", "optype": "CREATE"}]}
EXTRACT = {"source": {"extract": {"tables": ["hr.*"], "ddl": MAPPED}}}
NO_DDL = [{"tables": ["*.*"], "dml": False}]
PUBLICATION = (
    "ALTER PUBLICATION ddlrepl_shop DROP TABLE hr.pay",
    "INSERT INTO hr.pay VALUES (2, 2)",
    "ALTER PUBLICATION ddlrepl_shop ADD TABLE hr.pay",
    "INSERT INTO hr.pay VALUES (3, 3)",
)
UNLOGGED = (
    "ALTER TABLE hr.pay SET UNLOGGED",
    "INSERT INTO hr.pay VALUES (2, 2)",
    "ALTER TABLE hr.pay SET LOGGED",
    "INSERT INTO hr.pay VALUES (3, 3)",
)


def channel(make: Make, databases: Any, kind: str) -> Replica:
    if kind == "replicat":
        return replicat(make, databases)
    if kind == "replicat discards":
        return replicat(make, databases, ddl=MAPPED)
    if kind == "extract discards":
        return replicat(make, databases, settings=EXTRACT)
    more: dict[str, Any] = {
        "replay_ddl": {"adapt_ddl": [], "replay_ddl": [{"tables": ["*.*"]}]},
        "rules discard DDL": {
            "targets": [{"name": "warehouse", "location": databases.target, "rules": {"negative": NO_DDL}}]
        },
        "hvr without AdaptDDL": {"defaults": "hvr", "adapt_ddl": []},
        "an ignored session": {"capture": {"ignore_sessions": {"names": ["purge*"], "known_by": "triggers"}}},
    }
    return make(*START, **more[kind])


KINDS = [
    "replicat", "replicat discards", "extract discards", "replay_ddl", "rules discard DDL", "hvr without AdaptDDL",
    "an ignored session",
]  # fmt: skip


CASES = [(kind, statements) for kind in KINDS for statements in ("publication", "unlogged")]
CASES.remove(("an ignored session", "unlogged"))  # refused by name (ADP-181): nobody knows whose the rows were


@pytest.mark.parametrize(("kind", "statements"), CASES)
def test_the_table_is_loaded_again(make: Make, databases: Any, kind: str, statements: str) -> None:
    made = channel(make, databases, kind)
    made.settle()
    name = "purge" if kind == "an ignored session" else "nightly"
    with psycopg.connect(made.source, autocommit=True, application_name=name) as session:
        for statement in PUBLICATION if statements == "publication" else UNLOGGED:
            own = psycopg.connect(made.source, autocommit=True) if "INSERT" in statement else session
            own.execute(statement.encode())
            if own is not session:
                own.close()
    done = made.settle()
    assert [name.removeprefix("hr.").removeprefix("bk.bak_") for name in done.refresh.tables] == ["pay"]
    made.at_source("INSERT INTO hr.pay VALUES (4, 4)", "DELETE FROM hr.pay WHERE id = 1")
    assert not made.settle().refresh.tables
