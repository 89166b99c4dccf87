"""Fork the Python workers of a local Spark: this program is pyspark.daemon, from the files that are installed.

`spark.python.daemon.module` names it; Spark runs it as a program. What tasks import is imported once, here: each worker
would take a second of a core for it.
"""

from __future__ import annotations

import gc
import sys
from contextlib import suppress
from importlib import import_module

from airflow_ddlrepl.spark.session.daemon_ahead import await_spark, hand_over, socket_of
from airflow_ddlrepl.spark.session.python_archives import prefer_installed

OF_TASKS = ("capture.write_range", "engines.staging", "spark.execute.worker")


def import_for_tasks() -> None:
    """Import what tasks of every channel import; what is not installed is not needed here."""
    from airflow_ddlrepl.spark.execute.probe import needed

    for name in (*(f"airflow_ddlrepl.{name}" for name in OF_TASKS), *needed()):
        with suppress(ModuleNotFoundError):
            import_module(name)
    gc.collect()
    gc.freeze()


def main() -> None:
    """Be the daemon: at once, by one that was started ahead, or after Spark has asked for it."""
    prefer_installed()
    path = socket_of(sys.argv)
    if not path and hand_over():
        return
    from pyspark.daemon import manager

    if path:
        spark = await_spark(path, import_for_tasks)
        if spark is None:
            return
    else:
        import_for_tasks()
    manager()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
