"""Tables that a Replicat maps to several TARGETs of one database: rows and statements reach each of them, once."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
import yaml

from airflow_ddlrepl.errors import DdlReplError
from tests.support.replayable import HORIZON, captured
from tests.support.replica import Make, Replica
from tests.support.replicating import MAPS, columns, replicat

COPIES = [*MAPS, {"source": "hr.pay", "target": "audit.pay"}]


def copied(make: Make, databases: Any, *more: str, maps: Any = COPIES, **parameters: Any) -> Replica:
    """A channel whose Replicat maps hr.* to bk.bak_*, and hr.pay to audit.pay, too."""
    with psycopg.connect(databases.target, autocommit=True) as session:
        session.execute("CREATE SCHEMA IF NOT EXISTS audit; GRANT ALL ON SCHEMA audit TO public")
    return replicat(make, databases, *more, maps=maps, **parameters)


def pay(made: Replica, table: str) -> list[tuple[Any, ...]]:
    return made.rows(f"SELECT to_jsonb(t) FROM {table} t ORDER BY id")


def tables_of(made: Replica, schema: str) -> list[str]:
    found = f"SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = '{schema}'::regnamespace"
    return [name for (name,) in made.rows(found)]


@pytest.mark.req("GG-R-35")
def test_rows_and_statements_of_a_table_reach_both_of_its_targets(make: Make, databases: Any) -> None:
    made = copied(make, databases)
    assert pay(made, "bk.bak_pay") == pay(made, "audit.pay") == [({"id": 1, "v": 1},)]
    made.at_source(
        "BEGIN; UPDATE hr.pay SET v = 2; ALTER TABLE hr.pay ADD note text DEFAULT 'x', ADD CHECK (v < 100);"
        " INSERT INTO hr.pay VALUES (2, 2, 'new'); COMMIT",
        "CREATE INDEX by_v ON hr.pay (v)",
        "ALTER TABLE hr.tmp ADD y int",
        "CREATE TABLE hr.line (id int PRIMARY KEY)",
        "INSERT INTO hr.line VALUES (1)",
    )
    done = made.settle()
    expected = [({"id": 1, "v": 2, "note": "x"},), ({"id": 2, "v": 2, "note": "new"},)]
    assert pay(made, "bk.bak_pay") == pay(made, "audit.pay") == expected
    assert [(one.target, one.sql.split()[2]) for one in done.adapt.executed if "ADD note" in one.sql] == [
        ("warehouse", "bk.bak_pay"),
        ("warehouse.2", "audit.pay"),
    ]
    assert (columns(made, "bk.bak_tmp"), columns(made, "bk.bak_line")) == ("id y", "id")
    assert made.rows("SELECT to_regclass('audit.line'), to_regclass('audit.bak_by_v') IS NULL") == [(None, False)]
    assert not done.discarded
    assert made.plan().targets == {"warehouse": [], "warehouse.2": []}


def test_options_of_each_map_are_for_its_own_target(make: Make, databases: Any) -> None:
    """The condition and the columns of the second MAP, whose schema changes are adapted, leave the first one alone."""
    colmap = {"use_defaults": True, "columns": {"amount": "v"}}
    maps = [*MAPS, {"source": "hr.pay", "target": "audit.pay", "condition": "v > 1", "colmap": colmap}]
    made = copied(make, databases, maps=maps)
    made.at_source("INSERT INTO hr.pay VALUES (2, 2)", "ALTER TABLE hr.pay ADD x int DEFAULT 4")
    made.at_source("UPDATE hr.pay SET v = 7 WHERE id = 1", "DELETE FROM hr.pay WHERE id = 2")
    done = made.settle()
    assert pay(made, "bk.bak_pay") == [({"id": 1, "v": 7, "x": 4},)]
    assert pay(made, "audit.pay") == [({"id": 1, "amount": 7, "x": 4},)]
    assert set(done.discarded) <= {"hr.pay: its row does not meet the condition (restrict)"}


def test_a_second_target_can_join_and_leave(make: Make, databases: Any) -> None:
    """As another target of the file does: it is loaded by the next cycle, and stays when its MAP is taken out."""
    made = copied(make, databases, maps=MAPS)
    made.at_source("INSERT INTO hr.pay VALUES (2, 2)")
    _with_maps(made, COPIES)
    made.settle()
    assert len(pay(made, "audit.pay")) == 2
    _with_maps(made, MAPS)
    made.at_source("INSERT INTO hr.pay VALUES (3, 3)")
    made.settle()
    assert (len(pay(made, "bk.bak_pay")), len(pay(made, "audit.pay"))) == (3, 2)
    _with_maps(made, COPIES)
    made.settle()
    assert len(pay(made, "audit.pay")) == 3


def _with_maps(made: Replica, maps: Any) -> None:
    data = yaml.safe_load(made.file.read_text())
    data["targets"][0]["replicat"]["maps"] = maps
    made.file.write_text(yaml.safe_dump(data))


def test_a_table_comes_to_a_further_target_by_its_name_and_goes_with_it(make: Make, databases: Any) -> None:
    made = copied(make, databases, ddl={"include": [{"scope": "MAPPED"}]})
    made.at_source("ALTER TABLE hr.pay RENAME TO wage", "INSERT INTO hr.wage VALUES (2, 2)")
    made.replicate()
    assert (len(pay(made, "bk.bak_wage")), len(pay(made, "audit.pay"))) == (2, 1)
    made.at_source("ALTER TABLE hr.tmp RENAME TO pay", "INSERT INTO hr.pay VALUES (5)")
    with pytest.raises(DdlReplError, match=r"audit\.pay"):
        made.replicate()
    assert pay(made, "bk.bak_pay") == [({"id": 1},), ({"id": 5},)]


def test_a_dropped_table_goes_at_both(make: Make, databases: Any) -> None:
    made = copied(make, databases)
    made.at_source("INSERT INTO hr.pay VALUES (2, 2)", "DROP TABLE hr.pay")
    made.settle()
    assert made.rows("SELECT to_regclass('bk.bak_pay'), to_regclass('audit.pay')") == [(None, None)]


def test_a_drop_of_tables_with_one_and_with_two_targets_is_refused_at_the_second(make: Make, databases: Any) -> None:
    made = copied(make, databases)
    made.at_source("DROP TABLE hr.pay, hr.tmp")
    with pytest.raises(DdlReplError, match=r"ADP-152: .* also changes hr.tmp, not replayed here: .*target warehouse.2"):
        made.replicate()
    assert tables_of(made, "bk") == []
    assert tables_of(made, "audit") == ["pay"]


def test_ddlerror_is_for_each_target(make: Make, databases: Any) -> None:
    """The second target refuses an index that people have made there; the rule passes it over there alone."""
    made = copied(make, databases, errors=[{"error": "42P07", "action": "DISCARD"}])
    made.at_target("CREATE INDEX bak_by_v ON audit.pay (id)")
    made.at_source("CREATE INDEX by_v ON hr.pay (v)", "INSERT INTO hr.pay VALUES (2, 2)")
    done = made.replicate()
    ((why, count),) = done.discarded.items()
    assert why.startswith(
        "hr.pay: DDLERROR 42P07: DISCARD: the target refuses `CREATE INDEX bak_by_v ON audit.pay (v)`"
    )
    assert count == 1
    assert made.rows("SELECT to_regclass('bk.bak_by_v') IS NULL") == [(False,)]
    assert len(pay(made, "audit.pay")) == 2


def test_what_two_tables_of_one_database_can_not_share_is_refused(make: Make, databases: Any) -> None:
    """A type of the source's would be altered twice."""
    typed = ("CREATE TYPE mood AS ENUM ('ok')", "CREATE TABLE hr.felt (id int PRIMARY KEY, m mood)")
    maps = [*COPIES, {"source": "hr.felt", "target": "audit.felt"}]
    with pytest.raises(
        DdlReplError, match=r"ADP-180: .*bk.bak_felt, audit.felt; they would share the type public.mood"
    ):
        copied(make, databases, *typed, maps=maps)


def test_two_tables_in_one_further_target_are_refused(make: Make, databases: Any) -> None:
    maps = [*COPIES, {"source": "hr.tmp", "target": "audit.pay"}]
    with pytest.raises(DdlReplError, match=r"ADP-146: hr.(pay|tmp) and hr.(pay|tmp) would both be audit.pay"):
        copied(make, databases, maps=maps)


def test_two_tables_of_which_one_has_the_other_s_second_target_are_refused(make: Make, databases: Any) -> None:
    crossed = [{"source": "hr.pay", "target": "bk.a"}, {"source": "hr.pay", "target": "bk.b"}]
    with pytest.raises(DdlReplError, match=r"ADP-146: .* would both be bk.b"):
        copied(make, databases, maps=[*crossed, {"source": "hr.tmp", "target": "bk.b"}])


def test_a_replay_has_one_table_of_each(make: Make, databases: Any, past: str) -> None:
    replays = [{"name": "past", "location": past, "replicat": {"maps": COPIES}}]
    made = copied(make, databases, settings={"rewind_horizon": HORIZON, "replays": replays})
    before = captured(made)
    made.at_source("INSERT INTO hr.pay VALUES (2, 2)")
    made.settle()
    with pytest.raises(DdlReplError, match=r"ADP-180: at past MAP makes several tables of hr.pay"):
        made.rewind(before)


def test_a_further_target_goes_back_by_its_own_name(make: Make, databases: Any, past: str) -> None:
    replays = [{"name": "past", "location": past, "replicat": {"maps": MAPS}}]
    made = copied(make, databases, settings={"rewind_horizon": HORIZON, "replays": replays})
    made.at_source("INSERT INTO hr.pay VALUES (2, 2)")
    made.settle()
    before = captured(made)
    made.at_source("INSERT INTO hr.pay VALUES (3, 3)")
    made.settle()
    made.at_target("DELETE FROM audit.pay", "DELETE FROM bk.bak_pay WHERE id = 1")
    made.rewind(before, "warehouse.2")
    assert (len(pay(made, "bk.bak_pay")), len(pay(made, "audit.pay"))) == (2, 3)


def test_sequences_are_with_the_first_target(make: Make, databases: Any) -> None:
    """The second table has the rows, and no default that would draw from the first one's sequence."""
    numbered = ("CREATE TABLE hr.num (id serial PRIMARY KEY)", "INSERT INTO hr.num SELECT FROM generate_series(1, 3)")
    maps = [*COPIES, {"source": "hr.num", "target": "audit.num"}]
    made = copied(make, databases, *numbered, maps=maps, settings={"db_sequence": True})
    made.at_source("INSERT INTO hr.num DEFAULT VALUES", "ALTER TABLE hr.num ADD note text")
    made.settle()
    assert pay(made, "bk.bak_num") == pay(made, "audit.num") == [({"id": n, "note": None},) for n in range(1, 5)]
    found = made.rows("SELECT schemaname, sequencename, last_value FROM pg_sequences WHERE schemaname <> 'ddlrepl'")
    assert found == [("bk", "num_id_seq", 4)]
    made.settle()
