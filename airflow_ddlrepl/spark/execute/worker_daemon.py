"""Fork the Python workers of a local Spark: this program is pyspark.daemon, from the files that are installed.

`spark.python.daemon.module` names it; Spark runs it as a program. What tasks import is imported once, here: each worker
would take a second of a core for it.
"""

from __future__ import annotations

import gc
from contextlib import suppress
from importlib import import_module

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


if __name__ == "__main__":
    prefer_installed()
    from pyspark.daemon import manager

    import_for_tasks()
    manager()  # type: ignore[no-untyped-call]
