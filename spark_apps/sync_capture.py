"""spark-submit sync_capture.py --channel FILE --run ID --result FILE"""

import sys

from airflow_ddlrepl.spark.jobs import streams
from airflow_ddlrepl.spark_apps.main import main

if __name__ == "__main__":
    sys.exit(main("sync_capture", streams.sync_capture))
