"""Maintains tables of targets that are many files: compacts them, and removes what nobody needs any more.

    spark-submit maintain.py [--table=TABLE]… [--retain=AGE] [--small-files=N] [--deleted-percent=N]
    --channel=FILE --run=ID --result=FILE

Reads small files, and those with many deleted rows.
Rewrites them; no row changes.
Writes the tables, each in one commit, and removes old snapshots and files.
"""

import sys

from airflow_ddlrepl.spark_apps.main import run_app

if __name__ == "__main__":
    sys.exit(run_app("maintain"))
