"""Says what is missing for a cut-over; with --do it switches applications over to the targets.

    spark-submit cutover.py [--compare] [--do [--accept=CODE]…] --channel=FILE --run=ID --result=FILE

Reads the channel's state, who writes at the source, and with --compare all tables.
With --do it runs the last cycles, and makes sure that nobody writes at the source any more.
With --do it writes rows and sequences of the targets, and marks the channel as cut over in the repository.
"""

import sys

from airflow_ddlrepl.spark_apps.main import run_app

if __name__ == "__main__":
    sys.exit(run_app("cutover"))
