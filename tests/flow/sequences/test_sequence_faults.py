"""What a source or a target refuses of one sequence is said by its name, and keeps no other from the target."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.doctor import run_doctor
from airflow_ddlrepl.engines.abilities.sequences import HasSequences
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.engines.duckdb.target_port import DuckTarget
from airflow_ddlrepl.errors import DdlReplError, Unsupported
from tests.flow.sequences.test_sequences import value
from tests.support.replica import Make

TWO = "CREATE SEQUENCE first_one; CREATE SEQUENCE second_one"
DRAW = "SELECT nextval('first_one'), nextval('second_one')"


def role(url: str) -> str:
    with psycopg.connect(url) as connection:
        return str(connection.execute("SELECT quote_ident(current_user)").fetchone()[0])  # type: ignore[index]


def test_a_role_that_may_not_read_a_sequence(make: Make) -> None:
    replica: Any = make(TWO, db_sequence=True)
    reader = role(replica.small)
    tables = f"GRANT USAGE ON SCHEMA ddlrepl TO {reader}; GRANT SELECT ON ALL TABLES IN SCHEMA ddlrepl TO {reader}"
    one = f"GRANT SELECT ON SEQUENCE second_one TO {reader}"
    replica.at_source(f"REVOKE pg_read_all_data FROM {reader}", tables, one, DRAW)
    with pytest.raises(DdlReplError, match=r"SRC-105: .*may not read sequence public\.first_one"):
        replica.replicate()
    assert value(replica, "second_one") == 1
    fixes = [one.fix for one in run_doctor(load_channel(replica.file)) if "sequence" in one.detail]
    assert fixes == [f'GRANT SELECT ON SEQUENCE "public"."first_one" TO "{reader}";']
    replica.at_source(*fixes)
    replica.replicate()
    assert value(replica, "first_one") == 1


def test_a_sequence_of_somebody_else_at_the_target(make: Make) -> None:
    """It may be set with a grant; to alter it takes its owner."""
    replica: Any = make(TWO, db_sequence=True)
    with psycopg.connect(replica.target, autocommit=True) as connection:
        connection.execute("CREATE SEQUENCE first_one")
    loader = replica.file.read_text().partition("ddlrepl_loader_")[2].partition(":")[0]
    replica.at_source(DRAW)
    with pytest.raises(DdlReplError, match=r"TGT-133: .*may not read and set its sequence public\.first_one"):
        replica.replicate()
    assert value(replica, "second_one") == 1
    replica.at_target(f'GRANT SELECT, UPDATE ON SEQUENCE first_one TO "ddlrepl_loader_{loader}"')
    replica.replicate()
    assert value(replica, "first_one") == 1
    replica.at_source("ALTER SEQUENCE first_one INCREMENT BY 3", DRAW)
    with pytest.raises(DdlReplError, match=r"TGT-132: .*first_one.*must be owner"):
        replica.replicate()
    assert value(replica, "second_one") == 2
    replica.at_target(f'ALTER SEQUENCE first_one OWNER TO "ddlrepl_loader_{loader}"')
    replica.replicate()
    assert value(replica, "first_one") == 4


def test_a_table_of_the_target_has_the_name(make: Make) -> None:
    replica = make(TWO, db_sequence=True)
    replica.at_target("CREATE TABLE first_one (n int)")
    replica.at_source(DRAW)
    with pytest.raises(DdlReplError, match=r"TGT-131: .*first_one.*already exists"):
        replica.replicate()
    assert value(replica, "second_one") == 1
    replica.at_target("DROP TABLE first_one")
    replica.replicate()
    assert value(replica, "first_one") == 1


def test_a_kind_of_target_without_sequences() -> None:
    with pytest.raises(Unsupported, match=r"ADP-166: this kind of database has no sequences"):
        able(DuckTarget("duckdb:///none", "shop"), HasSequences)


def test_a_sequence_that_is_being_altered_is_read_by_the_next_cycle(make: Make, caplog: Any) -> None:
    replica = make(TWO, db_sequence=True)
    replica.at_source(DRAW)
    with psycopg.connect(replica.source) as connection:
        connection.execute("ALTER SEQUENCE first_one RENAME TO changed")
        replica.replicate()
        assert "first_one is being altered at the source" in caplog.text
        assert value(replica, "second_one") == 1
        connection.commit()
    replica.replicate()
    assert value(replica, "changed") == 1


def test_a_sequence_at_its_end(make: Make, caplog: Any) -> None:
    replica = make("CREATE SEQUENCE s MAXVALUE 3; CREATE SEQUENCE c MAXVALUE 3 CYCLE", db_sequence=True)
    replica.at_source("SELECT nextval('s'), nextval('c') FROM generate_series(1, 3)")
    replica.replicate()
    assert "sequence public.s has no number left at the source" in caplog.text
    with pytest.raises(psycopg.errors.SequenceGeneratorLimitExceeded):
        replica.rows("SELECT nextval('s')")
    assert value(replica, "c") == 3
    replica.at_source("SELECT nextval('c')", "ALTER SEQUENCE s MAXVALUE 10")
    replica.replicate()
    assert value(replica, "c") == 1
    assert replica.rows("SELECT nextval('s')") == [(4,)]


def test_a_value_never_goes_back_but_with_the_source(make: Make) -> None:
    replica = make(TWO, db_sequence={"headroom": 100})
    replica.at_source("SELECT nextval('first_one')")
    replica.replicate()
    assert value(replica, "first_one") == 101
    replica.at_target("SELECT setval('first_one', 500)")
    replica.at_source("SELECT nextval('first_one')")
    replica.replicate()
    assert value(replica, "first_one") == 500
    replica.at_source("ALTER SEQUENCE first_one RESTART")
    replica.replicate()
    assert value(replica, "first_one") == (101, "next")


@pytest.mark.req("HVR-D-90")
def test_a_dropped_sequence_stays(make: Make) -> None:
    replica = make(TWO, db_sequence=True)
    replica.at_source(DRAW)
    replica.replicate()
    replica.at_source("DROP SEQUENCE first_one")
    replica.replicate()
    assert value(replica, "first_one") == 1
    replica.at_source("CREATE SEQUENCE first_one START WITH 1000", "SELECT nextval('first_one')")
    replica.replicate()
    assert value(replica, "first_one") == 1000


def test_a_sequence_of_somebody_elses_column_or_channel_is_left_alone(make: Make) -> None:
    replica = make(TWO, db_sequence=True)
    replica.at_target("CREATE TABLE theirs (n serial)", "ALTER SEQUENCE theirs_n_seq RENAME TO first_one")
    replica.at_source("SELECT nextval('first_one'), nextval('second_one') FROM generate_series(1, 3)")
    with pytest.raises(
        DdlReplError, match=r"TGT-134: .*public\.first_one is there already, .* column n of public\.the"
    ):
        replica.replicate()
    assert value(replica, "second_one") == 3
    assert value(replica, "first_one") == (1, "next")
    replica.at_target("DROP TABLE theirs", "UPDATE ddlrepl.sequences SET channel = 'other'")
    with pytest.raises(DdlReplError, match=r"TGT-134: .*public\.second_one is there already, .* another channel"):
        replica.replicate()
    assert value(replica, "first_one") == 3
