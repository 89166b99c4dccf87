"""spark-submit cutover.py [--do [--accept CODE]…] [--compare] --channel FILE --run ID --result FILE"""

import argparse
import sys
from functools import partial

from airflow_ddlrepl.spark.jobs import cutover
from airflow_ddlrepl.spark_apps.main import main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="cutover.py", add_help=False, allow_abbrev=False)
    parser.add_argument("--do", action="store_true")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--accept", action="append", default=[])
    options, rest = parser.parse_known_args()
    switch = partial(cutover.cut_over, accepted=options.accept, compares=options.compare)
    sys.exit(main("cutover", switch if options.do else partial(cutover.check, compares=options.compare), rest))
