"""Tables whose old rows a target looks at (restrict, transform) get REPLICA IDENTITY FULL, and lose it again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Replica, channel_file
from tests.support.restricting import EU, IS_EU, ROWS, TABLE, at_source, check, ids, now
from tests.support.transforming import OURS

OTHERS = (
    "CREATE TABLE plain (id int PRIMARY KEY, region text)",
    "CREATE TABLE noted (id int PRIMARY KEY, note text)",
    "CREATE TABLE unlike (id int PRIMARY KEY, remark text)",
)
SAID = {"restrict": [EU], "transform": [{"tables": "public.*d|unlike", "columns": "no*", "function": f"{OURS}:masked"}]}


def identities(replica: Replica) -> dict[str, str]:
    """Of tables that the log tells more of than keys."""
    query = "SELECT relname::text, relreplident::text FROM pg_class WHERE relnamespace = 'public'::regnamespace"
    return dict(at_source(replica, f"{query} AND relkind = 'r' AND relreplident <> 'd'"))


def begun(databases: Any, folder: Path, **said: Any) -> Replica:
    made = Replica(
        databases.source, databases.target, channel_file(folder, databases.source, databases.target, **{**SAID, **said})
    )
    made.at_source(TABLE, ROWS, *OTHERS)
    return made


@pytest.mark.parametrize("databases", [18, 15], indirect=True)
@pytest.mark.parametrize("ddl", ["auto", "relations"])
def test_whole_old_rows_come_with_the_entry_and_go_with_it(databases: Any, tmp_path: Path, ddl: str) -> None:
    """Of tables that it is about, and no others; of new ones, too, with event triggers or without."""
    replica = begun(databases, tmp_path, source={"ddl": ddl})
    replica.activate()
    assert identities(replica) == {"t": "f", "noted": "f"}
    replica.at_source("UPDATE t SET amount = 150 WHERE id = 2", "UPDATE t SET region = 'US' WHERE id = 1")
    replica.settle()
    check(replica)
    now(replica, restrict=[{**EU, "tables": "t|late"}])
    replica.activate()
    replica.at_source(TABLE.replace("TABLE t", "TABLE late"), ROWS.replace("INTO t", "INTO late"))
    replica.replicate()
    assert identities(replica) == {"t": "f", "noted": "f", "late": "f"}
    replica.at_source("UPDATE late SET amount = 150 WHERE id = 2", "DELETE FROM late WHERE id = 1")
    replica.settle()
    check(replica, IS_EU, "late")
    assert ids(replica, "late") == [2]
    now(replica, restrict=[])
    replica.activate()
    assert identities(replica) == {"noted": "f"}
    replica.settle()
    with flow.open_channel(replica.file, InProcess()) as run:
        flow.deactivate(run)
    assert identities(replica) == {}


@pytest.mark.parametrize("ddl", ["auto", "relations"])
def test_taken_away_they_come_back(databases: Any, tmp_path: Path, ddl: str) -> None:
    """At once by the event triggers, else with the next capture: what is changed before it is not known."""
    replica = begun(databases, tmp_path, source={"ddl": ddl})
    replica.activate()
    replica.at_source("ALTER TABLE t REPLICA IDENTITY DEFAULT")
    assert ("t" in identities(replica)) == (ddl == "auto")
    replica.replicate()
    assert identities(replica)["t"] == "f"
    replica.at_source("UPDATE t SET amount = 150 WHERE id = 2", "DELETE FROM t WHERE id = 1")
    replica.settle()
    check(replica)


def test_what_a_person_has_set_stays_when_the_entry_goes(databases: Any, tmp_path: Path) -> None:
    replica = begun(databases, tmp_path)
    replica.at_source("ALTER TABLE t REPLICA IDENTITY FULL")
    replica.activate()
    now(replica, restrict=[], transform=[])
    replica.activate()
    assert identities(replica) == {"t": "f"}


def test_a_virtual_generated_column_keeps_the_key(databases: Any, tmp_path: Path) -> None:
    """From version 18 on the server would refuse the source's own updates under FULL."""
    replica = begun(databases, tmp_path, restrict=[])
    replica.at_source("ALTER TABLE plain ADD g int GENERATED ALWAYS AS (id + 1) VIRTUAL")
    replica.activate()
    now(replica, restrict=[{"tables": "plain", "condition": "region = 'EU'"}])
    with pytest.raises(Unsupported, match="ADP-154"):
        replica.activate()
    assert identities(replica) == {"noted": "f"}
    replica.at_source("INSERT INTO plain VALUES (1, 'EU')", "UPDATE plain SET region = 'US'")


def test_a_stored_generated_column_lets_the_whole_rows_through(databases: Any, tmp_path: Path) -> None:
    """The publication carries it."""
    replica = begun(databases, tmp_path, restrict=[{"tables": "plain", "condition": "region = 'EU'"}])
    replica.at_source("ALTER TABLE plain ADD g int GENERATED ALWAYS AS (id + 1) STORED")
    replica.activate()
    assert identities(replica) == {"noted": "f", "plain": "f"}
    replica.at_source("INSERT INTO plain VALUES (1, 'EU'), (2, 'US')", "UPDATE plain SET region = 'US' WHERE id = 1")
    replica.at_source("UPDATE plain SET region = 'EU' WHERE id = 2")
    replica.settle()
    assert replica.rows("SELECT id, g FROM plain") == [(2, 3)]
