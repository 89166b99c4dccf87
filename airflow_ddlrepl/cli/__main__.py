"""`python -m airflow_ddlrepl.cli`."""

from airflow_ddlrepl.cli.app import main

main()
