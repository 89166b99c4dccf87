"""Servers that refuse statements: the error says which server, why, and what to do there."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.errors import DdlReplError, ServerRefusal, Unreachable
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Make, Replica, channel_file
from tests.support.standby import Standby

ENDED = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
OTHER = ("CREATE TABLE other (id int PRIMARY KEY)", "INSERT INTO other VALUES (1)")
HASH = (
    "CREATE FUNCTION seeded(value int4, seed int8) RETURNS int8 LANGUAGE sql STRICT IMMUTABLE AS 'SELECT value + seed'",
    "CREATE OPERATOR CLASS mine FOR TYPE int4 USING hash AS OPERATOR 1 =, FUNCTION 2 seeded(int4, int8)",
    "CREATE TABLE p (a int) PARTITION BY HASH (a mine)",
    "CREATE TABLE p1 PARTITION OF p FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
    "INSERT INTO p VALUES (1), (2)",
)


def refused(replica: Replica) -> DdlReplError:
    with pytest.raises(DdlReplError) as caught:
        replica.replicate()
    return caught.value


def status(replica: Replica) -> str:
    with flow.open_channel(replica.file, InProcess()) as run:
        return flow.status(run).text()


def set_default(replica: Replica, value: str) -> None:
    name = "format('ALTER DATABASE %I SET default_transaction_read_only = " + value + "', current_database())"
    replica.at_target("SET default_transaction_read_only = off", "DO $$ BEGIN EXECUTE " + name + "; END $$", ENDED)


def test_a_read_only_target(make: Make) -> None:
    replica = make(*OTHER)
    set_default(replica, "on")
    replica.at_source("INSERT INTO other VALUES (2)", "CREATE TABLE late (id int)")
    error = refused(replica)
    assert isinstance(error, Unreachable) and error.code == "CON-105"
    database = replica.target.rpartition("/")[2].split("?")[0]
    assert f"/{database} is read-only" in error.message and "default_transaction_read_only is on there" in error.hint
    set_default(replica, "off")
    replica.settle()


def test_the_schema_of_an_extension(make: Make) -> None:
    replica = make(*OTHER)
    replica.at_target("CREATE EXTENSION hstore")
    replica.at_source(
        "CREATE SCHEMA ext",
        "CREATE EXTENSION hstore SCHEMA ext",
        "CREATE TABLE h (id int PRIMARY KEY, h ext.hstore)",
        "INSERT INTO h VALUES (1, 'a=>1')",
        "INSERT INTO other VALUES (2)",
    )
    error = refused(replica)
    assert isinstance(error, ServerRefusal) and error.code == "SQL-103"
    assert 'CREATE SCHEMA "ext"' in error.hint and 'CREATE EXTENSION "hstore" SCHEMA "ext"' in error.hint
    assert "SQL-103" in status(replica)
    assert replica.rows("SELECT count(*) FROM other") == [(2,)]
    replica.at_target(
        "CREATE SCHEMA ext", "GRANT USAGE ON SCHEMA ext TO PUBLIC", "ALTER EXTENSION hstore SET SCHEMA ext"
    )
    replica.settle()


def test_partitions_by_an_operator_class_of_the_sources_own(make: Make) -> None:
    replica = make(*OTHER)
    replica.at_source(*HASH, "INSERT INTO other VALUES (2)")
    for _ in range(2):
        error = refused(replica)
        assert error.code == "SQL-103" and 'operator class "public.mine" does not exist' in error.message
    assert status(replica).count('operator class "public.mine" does not exist') >= 1
    assert {one.table.name for one in replica.compare().tables if one.differences} == {"p", "p1"}
    replica.at_target(*HASH[:2])
    replica.settle()
    assert replica.rows("SELECT count(*) FROM p") == [(2,)]


def test_an_event_trigger_of_the_targets(make: Make) -> None:
    replica = make(*OTHER)
    replica.at_target(
        "CREATE FUNCTION no() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no DDL''; END'",
        "CREATE EVENT TRIGGER no ON ddl_command_start WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION no()",
    )
    replica.at_source("CREATE TABLE late (id int)", "INSERT INTO late VALUES (1)", "INSERT INTO other VALUES (2)")
    error = refused(replica)
    assert error.code == "SQL-109" and "no()" in error.message and "disable it" in error.hint
    replica.at_target("DROP EVENT TRIGGER no")
    replica.settle()


def test_a_hot_standby(private_server: type[PrivateServer], tmp_path: Path) -> None:
    with private_server("source", 18) as primary:
        source, target = primary.create_database("here"), primary.create_database("there")
        replica = Replica(source, target, channel_file(tmp_path, source, target))
        replica.at_source(*OTHER)
        replica.activate()
        with Standby(primary, "standby") as standby:
            standby.wait_for_log()
            replica.file.write_text(
                replica.file.read_text().replace(f":{primary.port}/there", f":{standby.port}/there")
            )
            replica.at_source("INSERT INTO other VALUES (2)")
            error = refused(replica)
            assert error.code == "CON-105" and f":{standby.port}/there is read-only" in error.message
            assert error.hint.startswith("it is a hot standby")
