"""spark-submit capture.py --channel FILE --run ID --result FILE"""

import sys

from airflow_ddlrepl.spark.jobs import stages
from airflow_ddlrepl.spark_apps.main import main

if __name__ == "__main__":
    sys.exit(main("capture", stages.capture))
