"""Fork the Python workers of a local Spark: this program is pyspark.daemon, from the files that are installed.

`spark.python.daemon.module` names it; Spark runs it as a program.
"""

from __future__ import annotations

from airflow_ddlrepl.spark.session.python_archives import prefer_installed

if __name__ == "__main__":
    prefer_installed()
    from pyspark.daemon import manager

    manager()  # type: ignore[no-untyped-call]
