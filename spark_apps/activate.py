"""spark-submit activate.py [--enrollment keep|regenerate|only] [--start-moment now|oldest|MOMENT|POSITION]
[--no-refresh] [--trail keep|new] [--accept nothing|source|repository|server] --channel FILE --run ID --result FILE
"""

import argparse
import sys
from functools import partial
from typing import get_args

from airflow_ddlrepl.config.sections.policies import Accepted, Enrollment, TrailChoice
from airflow_ddlrepl.spark.jobs import activate
from airflow_ddlrepl.spark_apps.main import main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="activate.py", add_help=False, allow_abbrev=False)
    parser.add_argument("--enrollment", choices=get_args(Enrollment), default="keep")
    parser.add_argument("--start-moment", default="now")
    parser.add_argument("--trail", choices=get_args(TrailChoice), default="keep")
    parser.add_argument("--accept", choices=get_args(Accepted), default="nothing")
    parser.add_argument("--no-refresh", action="store_false", dest="refresh")
    options, rest = parser.parse_known_args()
    sys.exit(main("activate", partial(activate.run, **vars(options)), rest))
