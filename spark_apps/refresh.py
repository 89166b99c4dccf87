"""Refreshes: loads tables that wait for it, and those that are named.

    spark-submit refresh.py [--table=TABLE]… [--options="-gr -v"] --channel=FILE --run=ID --result=FILE

Reads rows of the source from one snapshot, in chunks that Spark tasks copy.
Loads each table beside the present one and exchanges them, or with `-gr` writes the rows that differ.
Writes the tables at the targets, with the snapshot that integrate goes on from; with `rewind_horizon` an archive in
the trail.
"""

import sys

from airflow_ddlrepl.spark_apps.main import run_app

if __name__ == "__main__":
    sys.exit(run_app("refresh"))
