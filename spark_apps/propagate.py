"""Propagates: passes messages of a queue on to another one.

    spark-submit propagate.py [--propagation=NAME] --channel=FILE --run=ID --result=FILE

Reads the segments of the queues that propagations read.
Decides by each propagation's rules what goes on, and transforms it.
Writes segments of the queues that they lead to; the manifests have how far each propagation is.
"""

import sys

from airflow_ddlrepl.spark_apps.main import run_app

if __name__ == "__main__":
    sys.exit(run_app("propagate"))
