"""Compares the tables of source and targets; with --repair it writes the rows that differ.

    spark-submit compare.py [--table=TABLE]… [--repair] --channel=FILE --run=ID --result=FILE

Reads digests of each table's rows on both sides, in chunks that Spark tasks compute, and the rows that differ.
Compares at one position of the log: rows that are not replicated yet are no differences.
Writes its result to the repository; with --repair also the rows that differ, at the targets.
"""

import sys

from airflow_ddlrepl.spark_apps.main import run_app

if __name__ == "__main__":
    sys.exit(run_app("compare"))
