"""Say what the Python of Spark's workers lacks, and which setting names another one: SPK-102."""

from __future__ import annotations

import re

from airflow_ddlrepl import __version__
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.spark.execute.worker import TaskFailed

TASK_FAILED = f"{TaskFailed.__module__}.{TaskFailed.__qualname__}"
_IMPORT = re.compile(r"^\s*(?:ModuleNotFoundError|ImportError): (?P<what>\S.*)$", re.MULTILINE)
_NO_PYSPARK = re.compile(r"^\s*(?P<python>/\S+): (?P<what>No module named \S+)$", re.MULTILINE)
_NO_PROGRAM = re.compile(r'Cannot run program "(?P<python>[^"\n]+)"')
_VERSION = re.compile(r"\[PYTHON_VERSION_MISMATCH\] (?P<what>[^\n]+)")


class UnfitPython(DdlReplError):
    """This error says that the Python of Spark's workers lacks what tasks need (SPK-102)."""


def other_version(payload: bytes, is_connect: bool) -> UnfitPython:
    """Return the error for a worker whose Python lacks this package, or has another version of it."""
    python, _, found = payload.decode().partition("\n")
    what = f"has airflow-ddlrepl {found}, not {__version__}" if found else "has no airflow-ddlrepl"
    return _unfit(what, python, is_connect)


def lacks_package(payload: bytes, is_connect: bool) -> UnfitPython:
    """Return the error for a worker whose Python could not import what a task needs."""
    python, _, told = payload.decode().partition("\n")
    return _unfit(f"lacks a package: {told}", python, is_connect)


def unfit_python(report: str, is_connect: bool) -> UnfitPython | None:
    """Return the error for a Python that can't even start a task, by what Spark reports; None: another failure.

    A report of a failed task is none of these, whatever it contains: the task has caught each failed import itself.
    """
    if TASK_FAILED in report:
        return None
    if found := _VERSION.search(report):
        return _unfit(f"has another version than the driver's: {found['what'].strip()}", "", is_connect)
    if found := _NO_PROGRAM.search(report):
        return _unfit("is not there", found["python"], is_connect)
    if found := _NO_PYSPARK.search(report):
        return _unfit(f"lacks a package: {found['what']}", found["python"], is_connect)
    missing = list(_IMPORT.finditer(report))
    return _unfit(f"lacks a package: {missing[-1]['what']}", "", is_connect) if missing else None


def _unfit(what: str, python: str, is_connect: bool) -> UnfitPython:
    setting = (
        "start the Spark Connect server with PYSPARK_PYTHON in its environment"
        if is_connect
        else "set spark.pyspark.python under `spark: conf:` in the channel file"
    )
    return UnfitPython(
        f"the Python of Spark's workers{f' ({python})' if python else ''} {what}",
        code="SPK-102",
        hint=f"{setting} to a Python that every worker has with airflow-ddlrepl[postgres]=={__version__}, or install"
        " it there (docs/deployment.md lists the packages)",
    )
