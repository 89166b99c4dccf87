"""Captures: reads what the source has committed into the trail.

    spark-submit capture.py --channel=FILE --run=ID --result=FILE

Reads the source's log from the captured position on, and the catalog where a window ends.
Cuts the log into ranges that Spark tasks decode; rules and GoldenGate's Extract decide what is taken.
Writes segments of the trail, then revisions and the captured position to the repository; then the source may let go
of that log.
"""

import sys

from airflow_ddlrepl.spark_apps.main import run_app

if __name__ == "__main__":
    sys.exit(run_app("capture"))
