"""This module turns errors of Spark, of Iceberg's Java, of the catalog's database and of object stores into ours."""

from __future__ import annotations

import sys

from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.engines.lake.connection.files import is_of_store, store_refusal
from airflow_ddlrepl.engines.lake.connection.session import has_stopped
from airflow_ddlrepl.engines.lake.connection.sql_errors import disk_full, explained_sql
from airflow_ddlrepl.errors import DdlReplError, ServerRefusal, Unreachable

_FULL = ("No space left on device", "Disk quota exceeded")
_UNWRITABLE = ("Read-only file system", "Permission denied")
_NO_FOLDER = "Mkdirs failed to create"
"""How the message of an error of a file ends where it is the system's, and begins where it is Hadoop's."""
_OF_FILES = ("java.io.IOException", "java.io.FileNotFoundException", "java.nio.file.FileSystemException")
_NO_ACCESS = ("java.nio.file.AccessDeniedException", "java.nio.file.ReadOnlyFileSystemException")
_LOST = ("Py4JNetworkError", "Py4JConnectionError")
_OF_STORE = ("software.amazon.awssdk.",)
_MOST_CAUSES = 30
_OF_CATALOG = ("org.apache.iceberg.jdbc.UncheckedSQLException", "org.postgresql.", "org.sqlite.")


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
    if type(error).__name__ in _LOST or has_stopped():
        return Unreachable(
            f"the Spark session has ended: {line(error)}",
            code="CON-104",
            hint="has it enough memory? What was not committed is not seen, and the next run does it again",
            retryable=True,
        )
    text, causes = line(error), java_causes(error)
    if any(kind.startswith(_OF_STORE) for kind, _ in causes):
        return store_refusal(text)
    said = [message.removesuffix(")") for kind, message in causes if kind in _OF_FILES]
    if any(message.endswith(_FULL) for message in said):
        return disk_full(text)
    if any(kind in _NO_ACCESS for kind, _ in causes) or any(
        message.endswith(_UNWRITABLE) or message.startswith(_NO_FOLDER) for message in said
    ):
        return Unreachable(
            f"the warehouse of a lake takes no files: {text}",
            code="CON-101",
            hint="see that every worker sees the folder, and that this user may write there; what was not committed is"
            " not seen",
        )
    if any(kind.startswith(_OF_CATALOG) for kind, _ in causes):
        return Unreachable(
            f"Iceberg's Java can't use the database of the lake's catalog: {text}",
            code="CON-104",
            hint="is the server still running, or the file locked? What was not committed is not seen, and the next run"
            " does it again",
            retryable=True,
        )
    return ServerRefusal(f"Spark refuses a statement: {text}", code="SQL-100", hint="see what it says, and run again")


def java_causes(error: BaseException) -> list[tuple[str, str]]:
    """Return the class and the message of an error of Java, and of each cause of it; nothing of one that has no Java.

    What is decided is decided by classes, and by messages that begin or end as their class writes them: a value of a
    user's may stand in any message.
    """
    found: list[tuple[str, str]] = []
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while java is not None and len(found) < _MOST_CAUSES:
        found.append((str(java.getClass().getName()), str(java.getMessage() or "")))
        java = java.getCause()
    return found


def _is_sql(error: BaseException) -> bool:
    from sqlalchemy.exc import DBAPIError

    return isinstance(error, DBAPIError)
