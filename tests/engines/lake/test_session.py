"""A session of somebody else is used if it can write to a lake."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from airflow_ddlrepl.engines.lake.catalog.window import Window
from airflow_ddlrepl.engines.lake.connection import session
from airflow_ddlrepl.engines.lake.connection.database import writing
from airflow_ddlrepl.engines.lake.connection.errors import explained
from airflow_ddlrepl.engines.lake.connection.java import java_table
from airflow_ddlrepl.engines.lake.connection.session import _beside, lake_session
from airflow_ddlrepl.engines.lake.ddl.run import run
from airflow_ddlrepl.engines.lake.types.literals import constant
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.ports.work import offer_session, withdraw_session
from tests.conftest import Databases
from tests.support.lakes.apply_times import LONG_AGO, last_applied, set_every
from tests.support.lakes.channel import Lake
from tests.support.lakes.warm_spark import warm_runner

TABLE = TableName("public", "made_before")


class Conf:
    def get(self, name: str, default: str | None = None) -> str | None:
        return default


class Session:
    conf = Conf()


@pytest.fixture
def offered() -> Iterator[None]:
    def session() -> Session:
        return Session()

    offer_session(session)
    yield
    withdraw_session(session)


@pytest.mark.usefixtures("offered")
def test_a_session_without_iceberg_is_refused(location: str) -> None:
    with pytest.raises(DdlReplError) as raised:
        lake_session(location)
    assert raised.value.code == "SPK-105" and "spark.sql.extensions" in raised.value.message


@pytest.mark.xdist_group("spark")
def test_a_run_without_anything_new_asks_for_no_session(
    databases: Databases, tmp_path: Path, lake_spark: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does one that moves the position past what is of no table of the channel, or a comparison."""
    lake = Lake(databases.source, tmp_path)
    lake.at_source("create table t (id int primary key)", "insert into t values (1)")
    lake.activate()
    lake.settle()

    def offered() -> None:
        raise AssertionError("a session is asked for")

    monkeypatch.setattr(session, "offered_session", offered)
    lake.replicate()
    lake.at_source("create sequence numbers", "create function one() returns int language sql as 'select 1'")
    lake.replicate()
    assert lake.compare().differences == 0
    lake.at_source("insert into t values (2)")
    with pytest.raises(AssertionError, match="a session is asked for"):
        lake.replicate()


@pytest.mark.xdist_group("spark")
def test_a_lake_that_waits_to_be_applied_to_asks_for_no_session(
    databases: Databases, tmp_path: Path, lake_spark: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(databases.source, tmp_path)
    lake.at_source("create table t (id int primary key)")
    lake.activate()
    set_every(lake)
    lake.at_source("insert into t values (1)")
    lake.settle()

    def offered() -> None:
        raise AssertionError("a session is asked for")

    with monkeypatch.context() as patched:
        patched.setattr(session, "offered_session", offered)
        lake.at_source("insert into t values (2)", "alter table t add v text default 'x'", "insert into t values (3)")
        done = lake.replicate()
        assert done.capture.rows == 2 and done.integrate.waiting
        last_applied(lake, LONG_AGO)
        with pytest.raises(AssertionError, match="a session is asked for"):
            lake.replicate()
    lake.settle()
    assert [row["v"] for row in lake.read(TableName("public", "t"))] == ["x", "x", "x"]


OF_SOMEBODY = {
    "spark.sql.variable.substitute": "true",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "America/New_York",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
}


@pytest.fixture
def settings_of_somebody(lake_spark: None) -> Iterator[None]:
    """The running Spark has other settings, as `spark.conf` of a channel gives it, and so has its session."""
    there = warm_runner()._started()
    spark = there.sparkContext._jsc.sc().conf()  # type: ignore[union-attr]
    before = {name: (spark.get(name, ""), there.conf.get(name)) for name in OF_SOMEBODY}
    for name, value in OF_SOMEBODY.items():
        spark.set(name, value)
        there.conf.set(name, value)
    _beside.cache_clear()
    yield
    for name, (of_spark, of_session) in before.items():
        spark.set(name, of_spark) if of_spark else spark.remove(name)
        there.conf.set(name, of_session or "")
    _beside.cache_clear()


@pytest.mark.xdist_group("spark")
@pytest.mark.usefixtures("settings_of_somebody")
def test_no_setting_changes_what_a_text_of_the_source_means(window: Window) -> None:
    """With Spark's own settings `${env:…}` in a default is the value of a variable of our process."""
    text = "it's ${env:PATH} ${spark.app.name} \\n \\' -- \n"
    moment = "2026-11-28 08:00:00+00"
    run(window, "CREATE TABLE `shop`.`t` (`id` INT)")
    table = window.table(TableName("shop", "t"))
    window.spark.sql(f"INSERT INTO {table} VALUES (1)")
    run(window, f"ALTER TABLE `shop`.`t` ADD COLUMN `a ${{env:PATH}}` STRING DEFAULT {constant(text, 'STRING')}")
    run(window, f"ALTER TABLE `shop`.`t` ADD COLUMN `at` TIMESTAMP DEFAULT {constant(moment, 'TIMESTAMP')}")
    window.commit()
    (row,) = window.spark.sql(f"SELECT `a ${{env:PATH}}` AS a, unix_seconds(at) AS seconds FROM {table}").collect()
    assert (row.a, row.seconds) == (text, datetime.fromisoformat(moment).timestamp())


def test_a_table_that_another_process_has_made_is_read_by_java_first(window: Window, location: str) -> None:
    """As in a run whose first work is a change of a table: no statement of Spark's has named the catalog before."""
    window.create(TABLE, "id INT")
    with writing(location) as connection:
        window.flip(connection)
    _beside.cache_clear()
    later = Window(location, "later")
    assert java_table(later.spark, later.table(TABLE)).schema().findField("id") is not None


def test_a_spark_that_has_stopped_is_worth_another_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one does whose Java has no room for compiled code any more: what it refuses says nothing of the statement."""
    from pyspark import SparkContext
    from pyspark.errors import PySparkException

    error = PySparkException("Cannot call methods on a stopped SparkContext.")
    monkeypatch.setattr(SparkContext, "_active_spark_context", SimpleNamespace(_jsc=None))
    found = explained(error)
    assert found is not None and found.code == "CON-104" and found.retryable
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    found = explained(error)
    assert found is not None and found.code == "SQL-100" and not found.retryable


class Java:
    """An error of Java, as Python has it."""

    def __init__(self, kind: str, message: str, cause: Java | None = None) -> None:
        self.kind, self.message, self.cause = kind, message, cause

    def getClass(self) -> Java:
        return self

    def getName(self) -> str:
        return self.kind

    def getMessage(self) -> str:
        return self.message

    def getCause(self) -> Java | None:
        return self.cause


VALUE = "No space left on device; software.amazon.awssdk org.sqlite.SQLiteException Permission denied"


@pytest.mark.parametrize(
    ("kind", "message", "code"),
    [
        ("org.apache.spark.SparkNumberFormatException", f"the value '{VALUE}' can't be cast", "SQL-100"),
        ("java.io.IOException", f"{VALUE}: is no Parquet file", "SQL-100"),
        ("java.io.IOException", "No space left on device", "DSK-103"),
        ("java.io.FileNotFoundException", "/w/f.parquet (Permission denied)", "CON-101"),
        ("java.io.IOException", "Mkdirs failed to create file:/w", "CON-101"),
        ("java.nio.file.AccessDeniedException", "/w", "CON-101"),
        ("org.sqlite.SQLiteException", "[SQLITE_BUSY]", "CON-104"),
        ("software.amazon.awssdk.services.s3.model.S3Exception", "denied", "CON-123"),
    ],
)
def test_a_value_in_an_error_of_java_decides_nothing(kind: str, message: str, code: str) -> None:
    from pyspark.errors import PySparkException

    error = PySparkException(message)
    error._origin = Java("org.apache.spark.SparkException", f"Job aborted: {message}", Java(kind, message))  # type: ignore[attr-defined]
    found = explained(error)
    assert found is not None and found.code == code
