"""What a channel writes at its target carries a replication origin: an Extract there knows it from an application's."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.doctor import servers
from airflow_ddlrepl.model.change import EventKind
from tests.flow.both_directions.there_and_back import there_and_back
from tests.flow.goldengate.chained import CARRIED, REPLICAT, chain
from tests.support.replica import Replica, channel_file, run
from tests.support.small_roles import made as small_role

ORIGINS = "SELECT roname FROM pg_replication_origin WHERE roname LIKE 'ddlrepl % ' || current_database() ORDER BY 1"
ALL_ORIGINS = ORIGINS.replace("current_database()", "current_database() || '%'")
FUNCTIONS = (
    "pg_replication_origin_create(text)",
    "pg_replication_origin_oid(text)",
    "pg_replication_origin_session_setup(text)",
    "pg_replication_origin_session_reset()",
    "pg_replication_origin_xact_setup(pg_lsn, timestamptz)",
)
ALTERING = ("ALTER TABLE", "CREATE INDEX")
MONTH = 30 * 86400 * 1e6


@pytest.mark.req("GG-E-06", "GG-E-07")
@pytest.mark.parametrize("replicat", [REPLICAT, None], ids=["replicat", "adapting"])
def test_an_extract_leaves_out_what_our_own_channel_has_altered(
    databases: Any, past: str, tmp_path: Path, replicat: Any
) -> None:
    """Its rows go on, and so does a statement of an application in between."""
    made = chain(databases, past, tmp_path, replicat=replicat, extract={})
    made.first.at_source("ALTER TABLE hr.pay ADD x int", "INSERT INTO hr.pay VALUES (2, 2, 2)")
    made.second.at_source("ALTER TABLE hr.tmp ADD own int", "INSERT INTO hr.tmp VALUES (7, 7)")
    _, told = made.turn()
    assert (made.columns("hr.pay"), made.columns("hr.tmp")) == (("id v x", "id v"), ("id own", "id own"))
    (why,) = told.capture.discarded
    assert why == "ALTER TABLE: Extract discards it: ignorereplicates: a Replicat has run it on this system"
    assert made.second.rows("SELECT id, v FROM hr.pay ORDER BY 1") == [(1, 1), (2, 2)]
    assert made.second.rows("SELECT id, own FROM hr.tmp") == [(7, 7)]


@pytest.mark.req("GG-E-08")
@pytest.mark.parametrize("replicat", [REPLICAT, None], ids=["replicat", "adapting"])
def test_with_getreplicates_a_chain_carries_rows_and_statements_on(
    databases: Any, past: str, tmp_path: Path, replicat: Any
) -> None:
    made = chain(databases, past, tmp_path, replicat=replicat, extract=CARRIED)
    made.first.at_source(
        "ALTER TABLE hr.pay ADD x int",
        "INSERT INTO hr.pay VALUES (2, 2, 2)",
        "ALTER TABLE hr.pay RENAME x TO y",
        "CREATE TABLE hr.new (id int PRIMARY KEY)",
        "INSERT INTO hr.new VALUES (5)",
        "UPDATE hr.pay SET y = 9",
        "DROP TABLE hr.tmp",
    )
    made.turn()
    assert made.columns("hr.pay") == ("id v y", "id v y")
    assert made.second.rows("SELECT id, v, y FROM hr.pay ORDER BY 1") == [(1, 1, 9), (2, 2, 9)]
    if replicat is not None:
        assert made.second.rows("SELECT id FROM hr.new") == [(5,)]
        assert made.second.rows("SELECT to_regclass('hr.tmp')::text") == [(None,)]


@pytest.mark.req("GG-E-08", "GG-E-39", "GG-R-09", "GG-R-11", "GG-E-31")
def test_a_statement_goes_through_the_stages_of_two_extracts_and_two_replicats(
    databases: Any, past: str, tmp_path: Path
) -> None:
    """Each side's parameters act once, on what the side before has made of text and names; rows follow."""
    made = chain(
        databases,
        past,
        tmp_path,
        at_first={
            "tables": ["hr.*"],
            "ddl": {"include": [{"scope": "MAPPED"}], "exclude": [{"instr_comments": "local"}]},
            "substitutions": [{"search": "draft", "replacement": "first"}],
        },
        replicat={"maps": [{"source": "hr.*", "target": "bk.bak_*"}], "ddl": {}},
        middle="bk",
        extract={**CARRIED, "ddl": {"include": [{"objname": "bk.bak_pay"}]}, "remove_comments": ["before"]},
        onward={"maps": [{"source": "bk.*", "target": "ar.old_*"}], "ddl": {"include": [{"objname": "ar.*"}]}},
    )
    made.first.at_source(
        "ALTER TABLE hr.pay ADD x int /* draft */",
        "INSERT INTO hr.pay VALUES (2, 2, 2)",
        "CREATE INDEX by_x ON hr.pay (x)",
        "ALTER TABLE hr.tmp ADD y int",
        "INSERT INTO hr.tmp VALUES (3, 3)",
        "ALTER TABLE hr.pay RENAME x TO z",
        "UPDATE hr.pay SET z = 5",
        "ALTER TABLE hr.tmp ADD here int /* local */",
    )
    first, second = made.turn()
    ran = [[one.sql for one in told.adapt.executed if one.sql.startswith(ALTERING)] for told in (first, second)]
    assert ran == [
        [
            "ALTER TABLE bk.bak_pay ADD x int /* first */",
            "CREATE INDEX bak_by_x ON bk.bak_pay (x)",
            "ALTER TABLE bk.bak_tmp ADD y int",
            "ALTER TABLE bk.bak_pay RENAME x TO z",
        ],
        [
            "ALTER TABLE ar.old_bak_pay ADD x int",
            "CREATE INDEX old_bak_by_x ON ar.old_bak_pay (x)",
            "ALTER TABLE ar.old_bak_pay RENAME x TO z",
        ],
    ]
    assert made.first.rows("SELECT id, v, z FROM bk.bak_pay ORDER BY 1") == [(1, 1, 5), (2, 2, 5)]
    assert made.second.rows("SELECT id, v, z FROM ar.old_bak_pay ORDER BY 1") == [(1, 1, 5), (2, 2, 5)]
    assert made.second.rows("TABLE ar.old_bak_tmp") == [(3,)]
    told = [*first.capture.discarded, *second.capture.discarded]
    assert [why.partition(":")[0] for why in told] == ["ALTER TABLE", "ALTER TABLE"]


def test_rows_and_statements_of_ours_have_origin_and_time_of_commit_in_the_log(
    databases: Any, past: str, tmp_path: Path
) -> None:
    """The server notes no time of its own for a transaction with an origin: it would be the year 2000."""
    made = chain(databases, past, tmp_path)
    made.first.at_source("ALTER TABLE hr.pay ADD x int", "INSERT INTO hr.pay VALUES (2, 2, 2)")
    made.second.at_source("ALTER TABLE hr.tmp ADD own int")
    made.turn()
    found = [event for event in made.captured() if event.kind is EventKind.DDL]
    database = databases.target.rpartition("/")[2]
    assert [event.origin for event in found] == ["", f"ddlrepl first {database}"]
    assert all(made.began <= event.committed <= made.began + MONTH for event in made.captured())
    assert made.first.rows(ORIGINS) == [(f"ddlrepl first {database}",)]
    made.second.check_equal()
    assert made.columns("hr.pay") == ("id v x", "id v x")


def test_where_nobody_captures_the_target_no_origin_is_taken(databases: Any, tmp_path: Path) -> None:
    made = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    made.at_source("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    made.activate()
    made.at_source("ALTER TABLE t ADD x int", "INSERT INTO t VALUES (2, 2)")
    made.replicate()
    assert (made.rows(ORIGINS), made.rows("SELECT count(*) FROM t")) == ([], [(2,)])


GRANTS = {"all": 5, "without the time": 4, "none": 0}


@pytest.mark.parametrize("granted", list(GRANTS))
def test_a_role_marks_what_it_may(databases: Any, past: str, tmp_path: Path, granted: str) -> None:
    """`doctor` says which statement gives the right; without it all arrives, and nothing is left out."""
    loader = small_role(databases.server, databases.target, "the loading role")
    role = urlsplit(loader).username
    for schema in ("hr", "ddlrepl"):
        run(databases.target, f'CREATE SCHEMA {schema}; GRANT ALL ON SCHEMA {schema} TO "{role}"')
    for name in FUNCTIONS[: GRANTS[granted]]:
        run(databases.target, f'GRANT EXECUTE ON FUNCTION {name} TO "{role}"')
    made = chain(databases, past, tmp_path, loader=loader, replicat=REPLICAT, extract={})
    made.first.at_source("ALTER TABLE hr.pay ADD x int", "INSERT INTO hr.pay VALUES (2, 2, 2)")
    done, _ = made.turn()
    assert (done.integrate.warnings, made.columns("hr.pay")[0]) == ((), "id v x")
    assert made.columns("hr.pay")[1] == ("id v x" if granted == "none" else "id v")
    assert all(made.began <= event.committed <= made.began + MONTH for event in made.captured())
    told = [one for one in servers(load_channel(made.first.file)) if "pg_replication_origin" in one.fix]
    assert [one.is_warning for one in told] == ([] if granted == "all" else [True])
    for one in told:
        run(databases.target, one.fix)
    assert not [one for one in servers(load_channel(made.first.file)) if "pg_replication_origin" in one.fix]


def test_doctor_says_what_an_extract_leaves_out_of_a_channel_that_writes_here(
    databases: Any, past: str, tmp_path: Path
) -> None:
    made = chain(databases, past, tmp_path, extract={})
    assert [one for one in servers(load_channel(made.second.file)) if "writes here" in one.detail] == []
    made.first.at_source("ALTER TABLE hr.pay ADD x int")
    made.turn()
    (told,) = [one for one in servers(load_channel(made.second.file)) if "writes here" in one.detail]
    database = databases.target.rpartition("/")[2]
    assert told.detail.startswith(f"ddlrepl first {database} writes here: `extract` leaves out its schema changes")
    assert told.fix.startswith("`ignore_replicates: false`")


def test_a_server_without_a_free_origin_is_told_by_the_run_and_gets_its_rows(
    databases: Any, private_server: Any, tmp_path: Path
) -> None:
    with private_server("target", 18, {"max_active_replication_origins": "1"}) as server:
        target = server.create_database("middle")
        run(target, "CREATE PUBLICATION somebody_s FOR ALL TABLES")
        run(target, "SELECT pg_replication_origin_create('one')", "SELECT pg_replication_origin_advance('one', '0/1')")
        made = Replica(databases.source, target, channel_file(tmp_path, databases.source, target))
        made.at_source("CREATE TABLE t (id int PRIMARY KEY)")
        made.activate()
        made.at_source("INSERT INTO t VALUES (2)")
        (told,) = made.replicate().integrate.warnings
        assert "its changes carry no replication origin" in told and "raise max_active_replication_origins" in told
        run(target, "SELECT pg_replication_origin_drop('one')")
        made.at_source("INSERT INTO t VALUES (3)")
        assert made.replicate().integrate.warnings == ()
        assert (made.rows("SELECT id FROM t ORDER BY 1"), len(made.rows(ORIGINS))) == ([(2,), (3,)], 1)


def test_a_session_takes_the_next_origin_where_another_one_has_the_first(
    databases: Any, past: str, tmp_path: Path
) -> None:
    made = chain(databases, past, tmp_path, extract={})
    made.first.at_source("INSERT INTO hr.pay VALUES (2, 2)")
    made.turn()
    ((name,),) = made.first.rows(ORIGINS)
    with psycopg.connect(databases.target) as other:
        other.execute("SELECT pg_replication_origin_session_setup(%s)", [name])
        made.first.at_source("ALTER TABLE hr.pay ADD x int")
        made.turn()
        assert made.columns("hr.pay") == ("id v x", "id v")
    assert made.first.rows(ALL_ORIGINS) == [(name,), (f"{name}#2",)]


def test_two_channels_there_and_back_know_each_other_by_their_origins(databases: Any, tmp_path: Path) -> None:
    """No trigger is needed for it, and no name of a session."""
    ignored = {"capture": {"ignore_sessions": {"origins": ["ddlrepl *"]}}}
    both = there_and_back(databases, tmp_path, "CREATE TABLE t (id int PRIMARY KEY, v int)", **ignored)
    both.turns(2)
    both.there.at_source("INSERT INTO t VALUES (1, 1)", "ALTER TABLE t ADD x int", "UPDATE t SET x = 1")
    both.turns(1)
    both.back.at_source("INSERT INTO t VALUES (2, 2, 2)", "ALTER TABLE t ADD y int", "UPDATE t SET y = 3 WHERE id = 2")
    both.turns(2)
    first, second = both.rows("SELECT id, v, x, y FROM t ORDER BY 1")
    assert first == second == [(1, 1, 1, None), (2, 2, 2, 3)]
    assert not any(one.integrate.rows for one in both.turns(2))
