"""spark-submit apply.py [--target=NAME] --channel FILE --run ID --result FILE"""

import argparse
import sys
from functools import partial

from airflow_ddlrepl.spark.jobs import streams
from airflow_ddlrepl.spark_apps.main import main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="apply.py", add_help=False, allow_abbrev=False)
    parser.add_argument("--target", default="")
    options, rest = parser.parse_known_args()
    sys.exit(main("apply", partial(streams.apply, target=options.target), rest))
