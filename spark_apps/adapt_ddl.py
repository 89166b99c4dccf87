"""spark-submit adapt_ddl.py --channel FILE --run ID --result FILE"""

import sys

from airflow_ddlrepl.spark.jobs import adapt_ddl
from airflow_ddlrepl.spark_apps.main import main

if __name__ == "__main__":
    sys.exit(main("adapt_ddl", adapt_ddl.run))
