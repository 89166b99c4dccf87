"""`ddlrepl`: the product without a scheduler."""

from airflow_ddlrepl.cli.app import main

__all__ = ["main"]
