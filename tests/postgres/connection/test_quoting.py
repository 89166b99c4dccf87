"""Names and texts that PostgreSQL can't hold are refused before they meet SQL; a driver's errors say what to do."""

from __future__ import annotations

import psycopg
import pytest

from airflow_ddlrepl.engines.postgres.connection.connect import connect, parameters
from airflow_ddlrepl.engines.postgres.connection.errors import explained
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, quote
from airflow_ddlrepl.errors import ConfigError, Unreachable
from tests.conftest import Databases


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_a_name_that_no_object_can_have(name: str) -> None:
    with pytest.raises(ConfigError, match="CFG-120"):
        quote(name)


def test_a_text_with_a_zero_byte() -> None:
    with pytest.raises(ConfigError, match="CFG-121"):
        literal("a\0b")


def test_a_location_that_is_no_url_is_not_repeated() -> None:
    with pytest.raises(ConfigError, match="CFG-122") as caught:
        parameters("postgresql://app:geheim@[there/shop")
    assert "geheim" not in str(caught.value) and "percent-encode" in caught.value.hint


@pytest.mark.parametrize(
    ("error", "code", "is_retryable"),
    [
        (psycopg.errors.LockNotAvailable("canceling statement due to lock timeout"), "SQL-102", True),
        (psycopg.errors.InsufficientPrivilege("permission denied for table t"), "SQL-101", False),
        (psycopg.errors.InternalError_("cache lookup failed for relation 1"), "SQL-100", False),
        (psycopg.errors.UndefinedObject('collation "public.x" does not exist'), "SQL-103", False),
        (psycopg.errors.FeatureNotSupported("unsupported XML feature"), "SQL-104", False),
        (psycopg.errors.ProgramLimitExceeded("row is too big: size 8200, maximum size 8160"), "SQL-105", False),
        (psycopg.errors.DataCorrupted("invalid page in block 1"), "SQL-106", False),
        (psycopg.errors.OutOfMemory("out of memory"), "SQL-107", True),
        (psycopg.errors.QueryCanceled("canceling statement due to user request"), "SQL-108", True),
        (psycopg.errors.RaiseException("not on Fridays"), "SQL-109", False),
        (psycopg.errors.UntranslatableCharacter('has no equivalent in encoding "LATIN1"'), "SQL-110", False),
        (psycopg.errors.DuplicateTable('relation "x" already exists'), "SQL-112", False),
        (psycopg.errors.DependentObjectsStillExist("cannot drop column v because others depend"), "SQL-114", False),
        (psycopg.errors.SyntaxError('syntax error at or near "WITHOUT"'), "SQL-104", False),
        (psycopg.errors.ConfigurationLimitExceeded("temporary file size exceeds temp_file_limit"), "SQL-107", True),
        (psycopg.errors.DiskFull("could not extend file"), "DSK-103", True),
        (psycopg.errors.DeadlockDetected("deadlock detected"), "SQL-102", True),
        (psycopg.errors.AdminShutdown("terminating connection due to administrator command"), "CON-104", True),
        (psycopg.errors.ReadOnlySqlTransaction("cannot execute INSERT in a read-only transaction"), "CON-105", True),
    ],
)
def test_an_error_that_nobody_expected(error: psycopg.Error, code: str, is_retryable: bool) -> None:
    found = explained(error)
    assert found is not None
    assert (found.code, found.retryable) == (code, is_retryable)
    assert str(error) in found.message and found.hint


def test_a_database_that_is_not_there(databases: Databases) -> None:
    missing = databases.source.rpartition("/")[0] + "/not_there"
    with pytest.raises(Unreachable, match=r'CON-103.*"not_there" does not exist'), connect(missing):
        pass
