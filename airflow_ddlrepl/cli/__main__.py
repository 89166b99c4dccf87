"""Run `python -m airflow_ddlrepl.cli` as `ddlrepl`."""

from airflow_ddlrepl.cli.app import main

main()
