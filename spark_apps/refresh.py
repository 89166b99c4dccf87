"""spark-submit refresh.py [--table TABLE]… [--options="-gr -v"] --channel FILE --run ID --result FILE"""

import argparse
import sys
from functools import partial

from airflow_ddlrepl.spark.jobs import refresh
from airflow_ddlrepl.spark_apps.main import main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="refresh.py", add_help=False, allow_abbrev=False)
    parser.add_argument("--table", action="append", default=[])
    parser.add_argument("--options", default="")
    options, rest = parser.parse_known_args()
    sys.exit(main("refresh", partial(refresh.run, tables=options.table, options=options.options), rest))
