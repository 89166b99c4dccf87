"""This module turns errors of Spark, of Iceberg's Java, of the catalog's database and of object stores into ours."""

from __future__ import annotations

import sys

from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.engines.lake.connection.files import is_of_store, store_refusal
from airflow_ddlrepl.engines.lake.connection.session import has_stopped
from airflow_ddlrepl.engines.lake.connection.sql_errors import explained_sql
from airflow_ddlrepl.errors import DdlReplError, DiskFull, ServerRefusal, Unreachable

_FULL = ("No space left on device", "Disk quota exceeded")
_UNWRITABLE = ("Read-only file system", "Permission denied", "AccessDeniedException", "Mkdirs failed to create")
_LOST = ("Py4JNetworkError", "Py4JConnectionError")
_OF_STORE = ("software.amazon.awssdk",)
_OF_CATALOG = ("UncheckedSQLException", "org.postgresql.util.PSQLException", "org.sqlite.SQLiteException")


def is_spark(error: BaseException) -> bool:
    """Is it an error of Spark, or of Java below it?"""
    names = {f"{kind.__module__.partition('.')[0]}" for kind in type(error).__mro__}
    return bool(names & {"py4j", "pyspark"})


def line(error: BaseException) -> str:
    """Return what an error of Spark says first, without the places in Java's code."""
    java = getattr(error, "java_exception", None)
    text = str(java.toString()) if java is not None else str(error)
    lines = [one.strip() for one in text.splitlines() if one.strip() and not one.strip().startswith("at ")]
    return redact(lines[0] if lines else type(error).__name__)[:500]


def explained(error: BaseException) -> DdlReplError | None:
    """Return an error of Spark as one that says what to do; None for others."""
    if not is_spark(error):
        if is_of_store(error):
            return store_refusal(error)
        return explained_sql(error) if "sqlalchemy" in sys.modules and _is_sql(error) else None
    text = line(error)
    if any(part in str(error) for part in _OF_STORE):
        return store_refusal(text)
    if any(part in str(error) for part in _FULL):
        return DiskFull(
            f"the disk of a lake is full: {text}",
            code="DSK-103",
            hint="free space there; what was not committed is not seen, and the next run does it again",
            retryable=True,
        )
    if any(part in str(error) for part in _UNWRITABLE):
        return Unreachable(
            f"the warehouse of a lake takes no files: {text}",
            code="CON-101",
            hint="see that every worker sees the folder, and that this user may write there; what was not committed is"
            " not seen",
        )
    if type(error).__name__ in _LOST or has_stopped():
        return Unreachable(
            f"the Spark session has ended: {text}",
            code="CON-104",
            hint="has it enough memory? What was not committed is not seen, and the next run does it again",
            retryable=True,
        )
    if any(part in str(error) for part in _OF_CATALOG):
        return Unreachable(
            f"Iceberg's Java can't use the database of the lake's catalog: {text}",
            code="CON-104",
            hint="is the server still running, or the file locked? What was not committed is not seen, and the next run"
            " does it again",
            retryable=True,
        )
    return ServerRefusal(f"Spark refuses a statement: {text}", code="SQL-100", hint="see what it says, and run again")


def _is_sql(error: BaseException) -> bool:
    from sqlalchemy.exc import DBAPIError

    return isinstance(error, DBAPIError)
