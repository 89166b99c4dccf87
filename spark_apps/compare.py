"""spark-submit compare.py [--table TABLE]… [--repair] --channel FILE --run ID --result FILE"""

import argparse
import sys
from functools import partial

from airflow_ddlrepl.spark.jobs import compare
from airflow_ddlrepl.spark_apps.main import main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="compare.py", add_help=False, allow_abbrev=False)
    parser.add_argument("--table", action="append", default=[])
    parser.add_argument("--repair", action="store_true")
    options, rest = parser.parse_known_args()
    job = compare.repair if options.repair else compare.run
    sys.exit(main("compare", partial(job, tables=options.table), rest))
