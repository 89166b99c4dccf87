"""A catalog in PostgreSQL behaves as one in a file: one writes after the other, and who reads sees one moment."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest

from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.engines.lake.catalog.entries import add_entry, create, pointer
from airflow_ddlrepl.engines.lake.catalog.window import Window
from airflow_ddlrepl.engines.lake.connection.database import reading, writing
from airflow_ddlrepl.engines.lake.connection.errors import explained
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.engines.lake.connection.session import lake_session
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.names import TableName
from tests.conftest import Databases
from tests.support.lakes.catalogs import server_url

ORDERS = TableName("shop", "orders")
pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture
def lake(databases: Databases, tmp_path: Path) -> str:
    """The location of a lake that has a catalog and no table."""
    found = f"iceberg{databases.target.removeprefix('postgresql')}?warehouse={tmp_path}/warehouse"
    with writing(found) as connection:
        create(connection)
    return found


def test_one_writes_after_the_other(lake: str) -> None:
    with writing(lake), pytest.raises(DdlReplError) as raised, writing(lake, 0.5):
        pass
    assert (raised.value.code, raised.value.retryable) == ("CON-101", True)
    with writing(lake, 0.5):
        pass


def test_who_reads_sees_one_moment(lake: str) -> None:
    with reading(lake) as connection:
        assert pointer(connection, "lake", ORDERS) is None
        with writing(lake) as other:
            add_entry(other, "lake", ORDERS, "/somewhere")
        assert pointer(connection, "lake", ORDERS) is None
    with reading(lake) as connection:
        assert pointer(connection, "lake", ORDERS) == "/somewhere"


@pytest.mark.parametrize(
    ("part", "other", "code"),
    [("@", "x@", "CON-102"), (r"\?", "x?", "CON-103"), (r":\d+/", ":1/", "CON-101")],
    ids=["password", "database", "port"],
)
def test_a_catalog_that_cannot_be_opened_is_told_without_its_password(
    lake: str, part: str, other: str, code: str
) -> None:
    with pytest.raises(DdlReplError) as raised, reading(re.sub(part, other, lake, count=1)):
        pass
    assert raised.value.code == code
    password = str(location_of(lake).sql_url.password)
    assert password not in str(raised.value) and password not in redact(lake)


def test_a_session_that_ends_in_the_middle_can_be_tried_again(lake: str) -> None:
    with pytest.raises(DdlReplError) as raised, writing(lake) as connection:
        add_entry(connection, "lake", ORDERS, "/somewhere")
        (number,) = connection.exec_driver_sql("SELECT pg_backend_pid()").one()
        with psycopg.connect(server_url(lake)) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", [number])
        connection.exec_driver_sql("SELECT 1")
    assert (raised.value.code, raised.value.retryable) == ("CON-104", True)
    with reading(lake) as connection:
        assert pointer(connection, "lake", ORDERS) is None


@pytest.mark.usefixtures("lake_spark")
def test_java_uses_the_catalog_and_shows_its_password_nowhere(lake: str) -> None:
    window = Window(lake, "w_test_a1")
    window.create(ORDERS, "`id` INT")
    with writing(lake) as connection:
        window.flip(connection)
    spark = lake_session(lake)
    settings = spark._jsparkSession.sessionState().conf()
    password = str(location_of(lake).sql_url.password)
    assert password in str(settings.getAllConfs()) and password not in str(
        settings.redactOptions(settings.getAllConfs())
    )
    assert password not in str(spark.sparkContext.getConf().getAll())


@pytest.mark.usefixtures("lake_spark")
def test_java_connects_again_when_its_sessions_have_ended(lake: str) -> None:
    window = Window(lake, "w_test_a1")
    window.create(ORDERS, "`id` INT")
    with psycopg.connect(server_url(lake)) as other:
        theirs = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name LIKE '%JDBC%'"
        assert other.execute(theirs).fetchall()
    window.spark.sql(f"INSERT INTO {window.table(ORDERS)} VALUES (1)")
    with writing(lake) as connection:
        window.flip(connection)


@pytest.mark.usefixtures("lake_spark")
def test_a_catalog_that_java_loses_can_be_tried_again(lake: str) -> None:
    """A run that has begun finds the tables of the catalog gone."""
    window = Window(lake, "w_test_a1")
    window.create(ORDERS, "`id` INT")
    with psycopg.connect(server_url(lake)) as other:
        other.execute("DROP TABLE iceberg_tables")
    with pytest.raises(Exception) as raised:
        window.spark.sql(f"INSERT INTO {window.table(ORDERS)} VALUES (1)")
    told = explained(raised.value)
    assert told is not None and (told.code, told.retryable) == ("CON-104", True)
