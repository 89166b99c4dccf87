"""What a target with a Replicat leaves out of DDL is told by the run and by the status."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Make, Replica, may_differ
from tests.support.replicating import replicat


def statements(made: Replica) -> list[str]:
    """What the status says of statements about no table, without places in the log."""
    with flow.open_channel(made.file, InProcess()) as cycle:
        found = flow.status(cycle)
    told = found.to_json()["targets"]["warehouse"]["statements"]
    assert [line.strip() for line in found.text().splitlines() if "about no table" in line] == [
        f"statements about no table are left out {why}" for why in told
    ]
    return [why.split(": ", 1)[1] for why in told]


def test_the_status_tells_which_statements_about_no_table_are_left_out(make: Make, databases: Any) -> None:
    """By the kinds of code that `code` does not name, by clauses of either side, and by DDLERROR; each once."""
    extract = {"tables": ["hr.*"], "ddl": {"include": [{"scope": "ALL"}], "exclude": [{"objtype": "SEQUENCE"}]}}
    ddl = {"include": [{"scope": "ALL"}], "exclude": [{"objtype": "TYPE"}]}
    errors = [{"error": "42P06", "action": "IGNORE"}]
    made = replicat(make, databases, ddl=ddl, errors=errors, settings={"source": {"extract": extract}})
    made.at_target("CREATE SCHEMA fin")
    made.at_source(
        "CREATE VIEW hr.v AS SELECT 1",
        "CREATE VIEW hr.w AS SELECT 2",
        "CREATE TYPE hr.mood AS ENUM ('good')",
        "CREATE SEQUENCE hr.s",
        "CREATE SCHEMA fin",
        "COMMENT ON TABLE hr.pay IS 'told'",
    )
    done = made.settle()
    assert sum(done.discarded.values()) == 5
    found = statements(made)
    assert found[:3] == [
        "CREATE VIEW: it carries code or rights: `code: [view]` of replicat lets it run",
        "CREATE TYPE: Replicat discards it: exclude[0] is true: OBJTYPE TYPE",
        "CREATE SEQUENCE: Extract discards it: exclude[0] is true: OBJTYPE SEQUENCE",
    ]
    assert len(found) == 4
    assert found[3].startswith("CREATE SCHEMA: DDLERROR 42P06: IGNORE: ")
    assert may_differ(made) == []


def test_indexes_that_a_target_does_not_get_are_told(make: Make, databases: Any) -> None:
    made = replicat(make, databases)
    made.at_source(
        "CREATE INDEX CONCURRENTLY late ON hr.pay (v)",
        "CREATE INDEX by_v ON hr.pay (v)",
        "ALTER INDEX hr.by_v RENAME TO by_w",
        "ALTER INDEX hr.by_w RENAME TO by_x",
        "ALTER TABLE hr.pay OWNER TO CURRENT_USER",
    )
    done = made.settle()
    assert [(why.split(": ")[1], count) for why, count in sorted(done.discarded.items())] == [
        ("ALTER INDEX is not replayed", 2),
        ("CREATE INDEX is not replayed", 1),
    ]
    assert [why.split(": ", 2)[1] for why in may_differ(made)] == [
        "CREATE INDEX is not replayed",
        "ALTER INDEX is not replayed",
    ]


def test_a_drop_of_several_indexes_fails_the_run_by_name(make: Make, databases: Any) -> None:
    """As a rule of DDLERROR says it is passed over, and told."""
    made = replicat(make, databases, "CREATE INDEX ix ON hr.pay (v)", "CREATE INDEX iz ON hr.tmp (id)")
    made.at_source("INSERT INTO hr.pay VALUES (2, 2)", "DROP INDEX hr.ix, hr.iz")
    with pytest.raises(CannotAdapt, match=r"ADP-151: `DROP INDEX hr.ix, hr.iz` can't be replayed: it drops several"):
        made.replicate()
    text = made.file.read_text().replace("replicat:\n", "replicat:\n    errors: [{error: ADP-151, action: IGNORE}]\n")
    made.file.write_text(text)
    done = made.settle()
    assert sum(done.discarded.values()) == 2
    assert len(may_differ(made)) == 2
