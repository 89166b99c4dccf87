"""Tables that are renamed at the source, and what they are called at each of several TARGETs of a Replicat."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.ports.work import InProcess
from tests.flow.goldengate.test_several_targets import copied, pay, tables_of
from tests.support.replica import Make, Replica

MAPPED = {"include": [{"scope": "MAPPED"}]}
ALL, ONE, PAY = (
    {"source": "hr.*", "target": "bk.*"},
    {"source": "hr.*", "target": "audit.cp_*"},
    {"source": "hr.pay", "target": "audit.pay"},
)
RENAMED = (
    "UPDATE hr.pay SET v = 7",
    "ALTER TABLE hr.pay RENAME TO wage",
    "INSERT INTO hr.wage VALUES (2, 2)",
    "ALTER TABLE hr.wage ADD note text DEFAULT 'x'",
    "DELETE FROM hr.wage WHERE id = 1",
    "INSERT INTO hr.wage VALUES (3, 3, 'n')",
)
AFTER = [({"id": 2, "v": 2, "note": "x"},), ({"id": 3, "v": 3, "note": "n"},)]


def texts(done: Any, word: str) -> list[tuple[str, str]]:
    return [(one.target, one.sql) for one in done.adapt.executed if word in one.sql]


def why(made: Replica, target: str) -> list[str]:
    """What the status says of the tables at a target."""
    with flow.open_channel(made.file, InProcess()) as cycle:
        return [table["why"] for table in flow.status(cycle).to_json()["targets"][target]["tables"]]


@pytest.mark.req("GG-R-35")
def test_each_target_s_table_gets_the_name_that_a_map_lists_for_it(make: Make, databases: Any) -> None:
    """The new name has a MAP of its own, in full, for the second TARGET; at the first one a pattern lists it."""
    made = copied(make, databases, maps=[ALL, PAY, {"source": "hr.wage", "target": "audit.salary"}])
    made.at_source(*RENAMED)
    done = made.settle()
    assert pay(made, "bk.wage") == pay(made, "audit.salary") == AFTER
    assert (tables_of(made, "bk"), tables_of(made, "audit")) == (["tmp", "wage"], ["salary"])
    assert texts(done, "RENAME") == [
        ("warehouse", "ALTER TABLE bk.pay RENAME TO wage"),
        ("warehouse.2", "ALTER TABLE audit.pay RENAME TO salary"),
    ]


def test_each_target_s_table_gets_the_name_that_a_wildcard_gives_it(make: Make, databases: Any) -> None:
    made = copied(make, databases, maps=[ALL, ONE])
    made.at_source(*RENAMED)
    done = made.settle()
    assert pay(made, "bk.wage") == pay(made, "audit.cp_wage") == AFTER
    assert [sql for _, sql in texts(done, "RENAME")] == [
        "ALTER TABLE bk.pay RENAME TO wage",
        "ALTER TABLE audit.cp_pay RENAME TO cp_wage",
    ]


def test_a_target_for_which_no_map_lists_the_new_name_keeps_its_table_as_it_is(make: Make, databases: Any) -> None:
    """It is told what it lacks, and when the name comes back the table gets all its rows again."""
    made = copied(make, databases, maps=[ALL, PAY])
    made.at_source(*RENAMED)
    done = made.replicate()
    assert (pay(made, "bk.wage"), pay(made, "audit.pay")) == (AFTER, [({"id": 1, "v": 7},)])
    assert [target for target, _ in texts(done, "RENAME")] == ["warehouse"]
    assert why(made, "warehouse.2") == [
        "no MAP lists hr.wage for it: audit.pay stays as it is and gets no more rows; drop it, or let MAP list the name"
    ]
    assert made.compare().differences
    made.at_source("ALTER TABLE hr.wage RENAME TO pay", "INSERT INTO hr.pay VALUES (4, 4, 'm')")
    made.settle()
    assert pay(made, "bk.pay") == pay(made, "audit.pay") == [*AFTER, ({"id": 4, "v": 4, "note": "m"},)]
    assert why(made, "warehouse.2") == [""]


def test_a_name_that_no_map_lists_leaves_the_tables_of_all_targets(make: Make, databases: Any) -> None:
    made = copied(make, databases, maps=[{"source": "hr.pay", "target": "bk.pay"}, PAY], ddl=MAPPED)
    made.at_source(*RENAMED)
    done = made.replicate()
    assert pay(made, "bk.pay") == pay(made, "audit.pay") == [({"id": 1, "v": 7},)]
    assert done.discarded["hr.wage: Replicat discards it: no include clause is true"] >= 1
    assert made.compare().differences
    made.at_source("ALTER TABLE hr.wage RENAME TO pay")
    made.settle()
    assert pay(made, "bk.pay") == pay(made, "audit.pay") == AFTER


def test_a_rename_out_of_all_maps_is_refused_where_unmapped_statements_run(make: Make, databases: Any) -> None:
    """Its text keeps the source's names then, as GoldenGate's does; the target has no table of that name."""
    made = copied(make, databases, maps=[{"source": "hr.pay", "target": "bk.pay"}])
    made.at_source(*RENAMED)
    with pytest.raises(CannotAdapt, match=r"ADP-151: .*no MAP lists hr.wage, so the text keeps .* has no pay"):
        made.replicate()
    assert pay(made, "bk.pay") == [({"id": 1, "v": 7},)]


def test_a_name_that_the_second_target_alone_lists_brings_the_table_there(make: Make, databases: Any) -> None:
    made = copied(make, databases, maps=[ALL, {"source": "hr.wage", "target": "audit.wage"}])
    made.at_source(*RENAMED)
    made.settle()
    assert pay(made, "bk.wage") == pay(made, "audit.wage") == AFTER


def test_a_name_whose_map_is_another_target_s_leaves_that_target_s_table(make: Make, databases: Any) -> None:
    """hr.pay is audit.pay first, and bk.pay by the pattern behind; hr.wage is bk.wage alone."""
    made = copied(make, databases, maps=[PAY, ALL])
    made.at_source(*RENAMED)
    made.replicate()
    assert pay(made, "bk.wage") == AFTER
    assert pay(made, "audit.pay") == pay(made, "bk.pay") == [({"id": 1, "v": 7},)]
    assert why(made, "warehouse.2")[0].startswith("no MAP lists hr.wage for it: bk.pay stays as it is")


def test_a_name_that_map_puts_into_another_schema_takes_the_table_there(make: Make, databases: Any) -> None:
    """The text of a rename would leave it in its schema."""
    made = copied(
        make, databases, maps=[{"source": "hr.pay", "target": "bk.pay"}, {"source": "hr.wa*", "target": "audit.*"}]
    )
    made.at_target("CREATE INDEX of_people ON bk.pay (v)")
    made.at_source(*RENAMED)
    made.settle()
    assert (pay(made, "audit.wage"), tables_of(made, "bk")) == (AFTER, [])
    assert made.rows("SELECT to_regclass('audit.of_people') IS NULL") == [(False,)]


def test_an_index_of_the_second_target_is_dropped_there(make: Make, databases: Any) -> None:
    """PostgreSQL has an index in the schema of its table, whatever MAP lists the index's own name."""
    made = copied(make, databases)
    made.at_source("CREATE INDEX by_v ON hr.pay (v)")
    made.settle()
    there = "SELECT to_regclass('bk.bak_by_v') IS NULL, to_regclass('audit.bak_by_v') IS NULL"
    assert made.rows(there) == [(False, False)]
    made.at_source("DROP INDEX hr.by_v")
    made.settle()
    assert made.rows(there) == [(True, True)]


def test_an_index_is_dropped_under_the_name_that_nomapderived_leaves(make: Make, databases: Any) -> None:
    made = copied(make, databases, map_derived=False)
    made.at_source("CREATE INDEX by_v ON hr.pay (v)")
    made.settle()
    there = "SELECT to_regclass('bk.by_v') IS NULL, to_regclass('audit.by_v') IS NULL"
    assert made.rows(there) == [(False, False)]
    made.at_source("DROP INDEX hr.by_v")
    made.settle()
    assert made.rows(there) == [(True, True)]
