"""Activates a channel: prepares the source, enrolls its tables, loads them.

    spark-submit activate.py [--enrollment=keep|regenerate|only] [--start-moment=now|oldest|MOMENT|POSITION]
    [--no-refresh] [--trail=keep|new] [--accept=nothing|source|repository|server]
    --channel=FILE --run=ID --result=FILE

Reads the source's catalog, and the rows of the tables that exist.
Makes what capture needs at the source (publication, slot, event triggers), and gives each table its first revision.
Writes the channel and its revisions to the repository, its schema at the targets, and the loaded tables.
"""

import sys

from airflow_ddlrepl.spark_apps.main import run_app

if __name__ == "__main__":
    sys.exit(run_app("activate"))
