"""This package is the command line `ddlrepl`, which does everything without a scheduler."""

from airflow_ddlrepl.cli.app import main

__all__ = ["main"]
