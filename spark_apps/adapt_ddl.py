"""Adapts: changes the targets' tables as the source's have changed.

    spark-submit adapt_ddl.py --channel=FILE --run=ID --result=FILE

Reads the schema changes of the trail, and the rows before them.
Plans by the channel's policies what each target's tables need, and runs it in the order of the log.
Writes tables, rows and the position of each target up to its last schema change, and the ledger of the repository.
"""

import sys

from airflow_ddlrepl.spark_apps.main import run_app

if __name__ == "__main__":
    sys.exit(run_app("adapt_ddl"))
