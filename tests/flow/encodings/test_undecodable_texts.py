"""A source in SQL_ASCII holds bytes that are no UTF-8: their table waits by name, and all others go on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.doctor import run_doctor
from airflow_ddlrepl.errors import DdlReplError
from tests.conftest import Databases
from tests.flow.refresh.test_unreadable_tables import waiting
from tests.support.replica import BOTH, Replica, channel_file, run

TABLES = (
    "create table good (id int primary key, v text)",
    "create table bad (id int primary key, v text, w text)",
    "insert into good values (1, 'größe')",
    "insert into bad values (1, 'ok', 'größe'), (2, 'ok', 'x')",
)
LATIN = "convert_from('\\xff6c'::bytea, 'SQL_ASCII')"


@pytest.fixture
def source(databases: Databases) -> Iterator[str]:
    name = f"ascii_{databases.source.rsplit('_', 1)[1]}"
    create = f"create database {name} encoding 'SQL_ASCII' lc_collate 'C' lc_ctype 'C' template template0"
    run(databases.source, create)
    yield databases.server.dsn(name)
    databases.server.drop_database(name)


@pytest.fixture
def replica(databases: Databases, source: str, tmp_path: Path) -> Replica:
    file = channel_file(tmp_path, source, databases.target, source={"slot": f"s_{source.rsplit('_', 1)[1]}"})
    found = Replica(source, databases.target, file)
    raw(found, *TABLES)
    return found


def raw(replica: Replica, *statements: str) -> None:
    """As an application whose driver knows no other encoding than the database's."""
    with psycopg.connect(replica.source, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


@BOTH
def test_a_loaded_table_with_such_a_text_waits_alone(replica: Replica) -> None:
    raw(replica, f"update bad set v = {LATIN} where id = 2")
    with pytest.raises(DdlReplError, match="SRC-175") as caught:
        replica.activate()
    assert caught.value.table == "public.bad" and r"column v of the row no. 2" in caught.value.message
    assert "\\xff" in caught.value.message and "client_encoding" in caught.value.hint
    assert set(waiting(replica)) == {"public.bad"} and "no UTF-8" in waiting(replica)["public.bad"]
    raw(replica, "insert into good values (2, 'b')")
    with pytest.raises(DdlReplError, match="SRC-175"):
        replica.replicate()
    assert replica.rows("select id, v from good order by id") == [(1, "größe"), (2, "b")]
    assert [line for line in replica.compare().text().splitlines() if "public.bad" in line and "waits" in line]
    raw(replica, "update bad set v = 'l' where id = 2")
    replica.settle()


@BOTH
@pytest.mark.parametrize("ddl", ["auto", "relations"])
def test_a_change_with_such_a_text_suspends_its_table_alone(replica: Replica, ddl: str) -> None:
    replica.file.write_text(replica.file.read_text().replace("source:\n", f"source:\n  ddl: {ddl}\n"))
    replica.activate()
    raw(
        replica,
        "insert into good values (2, 'b')",
        f"insert into bad values (3, 'x', {LATIN})",
        "insert into bad values (4, 'y', 'z')",
        "update good set v = 'c' where id = 1",
    )
    with pytest.raises(DdlReplError, match="SRC-175"):
        replica.replicate()
    assert replica.rows("select id, v from good order by id") == [(1, "c"), (2, "b")]
    assert set(waiting(replica)) == {"public.bad"}
    raw(replica, "insert into good values (3, 'd')", "insert into bad values (5, 'y', 'z')")
    with pytest.raises(DdlReplError, match="SRC-175"):
        replica.replicate()
    assert replica.rows("select count(*) from good") == [(3,)]
    raw(replica, "delete from bad where id = 3")
    replica.settle()
    raw(replica, "insert into bad values (6, 'größe', '')", "delete from bad where id = 4")
    assert replica.settle().refresh.tables == {}


def test_the_doctor_warns_of_the_encoding(replica: Replica, caplog: pytest.LogCaptureFixture) -> None:
    replica.activate()
    assert "SQL_ASCII" in caplog.text
    told = [one for one in run_doctor(load_channel(replica.file)) if "SQL_ASCII" in one.detail]
    assert [one.text()[:4] for one in told if one.is_warning] == ["WARN"]
