"""A target of files, each table its own with a position of its own, whose DDL can't be rolled back.

It stands for engines that have no transaction over several tables, or none around DDL, and is as small as the ports let
an engine be. Importing the package registers it for locations like `files:///folder`.
"""

from airflow_ddlrepl.engines import register

SCHEME = "files"
register(SCHEME, "tests.conformance.file_engine.engine")
