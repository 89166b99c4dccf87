"""spark-submit rewind.py --to MOMENT|POSITION --into NAME [--table TABLE]… [--onward]
--channel FILE --run ID --result FILE
"""

import argparse
import sys
from functools import partial

from airflow_ddlrepl.spark.jobs import rewind
from airflow_ddlrepl.spark_apps.main import main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="rewind.py", add_help=False, allow_abbrev=False)
    parser.add_argument("--to", required=True)
    parser.add_argument("--into", required=True)
    parser.add_argument("--table", action="append", default=[])
    parser.add_argument("--onward", action="store_true")
    options, rest = parser.parse_known_args()
    job = partial(rewind.run, to=options.to, into=options.into, tables=options.table, onward=options.onward)
    sys.exit(main("rewind", job, rest))
