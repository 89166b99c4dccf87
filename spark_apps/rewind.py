"""Rewinds: builds tables as of an earlier moment in a replay, or lets a target go back and forward again.

    spark-submit rewind.py --to=MOMENT|POSITION --into=NAME [--table=TABLE]… [--onward]
    --channel=FILE --run=ID --result=FILE

Reads archived loads and the segments of the trail after them.
Replays both in the replay, with the shapes and policies of each position, up to the moment.
Writes the replay's tables and position; for a target also its tables, exchanged in one transaction.
"""

import sys

from airflow_ddlrepl.spark_apps.main import run_app

if __name__ == "__main__":
    sys.exit(run_app("rewind"))
