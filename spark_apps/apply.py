"""Applies: the transactions in the queues of apply processes.

    spark-submit apply.py [--target=NAME] --channel=FILE --run=ID --result=FILE

Reads the segments of the queues, transaction by transaction.
Decides by each apply process's rules, calls handlers, and applies one transaction after the other.
Writes rows, and the position of the apply process at its target; what fails goes to the error queue there.
"""

import sys

from airflow_ddlrepl.spark_apps.main import run_app

if __name__ == "__main__":
    sys.exit(run_app("apply"))
