"""Brings what triggers have captured into the queues of synchronous captures.

    spark-submit sync_capture.py --channel=FILE --run=ID --result=FILE

Reads the tables at the source that triggers fill, by the rules of synchronous captures.
Makes messages of them, each once, and brings the triggers up to date with the rules.
Writes segments of the queues in the trail; what was taken is removed at the source.
"""

import sys

from airflow_ddlrepl.spark_apps.main import run_app

if __name__ == "__main__":
    sys.exit(run_app("sync_capture"))
