"""Integrates: merges captured rows into the targets' tables.

    spark-submit integrate.py --channel=FILE --run=ID --result=FILE

Reads the segments of the trail that a target has not passed.
Nets the changes of each key, then merges them in one transaction with the position: each change arrives once.
Writes rows, sequences and the position of each target; segments that nobody needs any more are removed.
"""

import sys

from airflow_ddlrepl.spark_apps.main import run_app

if __name__ == "__main__":
    sys.exit(run_app("integrate"))
