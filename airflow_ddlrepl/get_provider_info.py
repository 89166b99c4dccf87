"""This module describes to Airflow what this package provides.

Every `airflow` command reads it, so it is plain data without imports.
"""

from __future__ import annotations

from typing import Any

CONNECTION_TYPE = "ddlrepl"

# Airflow keeps them in the connection's extra; all but `use` are parameters of PostgreSQL's clients.
CONNECTION_FIELDS: dict[str, dict[str, Any]] = {
    "use": {
        "label": "Used as",
        "description": "What the test looks at: the rights of a source, a target, or both. Empty: either suffices.",
        "schema": {"type": ["string", "null"], "enum": ["source", "target", "both"]},
    },
    "sslmode": {
        "label": "TLS",
        "description": "verify-full checks the server's certificate and name; empty: prefer, which checks nothing.",
        "schema": {
            "type": ["string", "null"],
            "enum": ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"],
        },
    },
    "sslrootcert": {
        "label": "Root certificate",
        "description": "A file on every machine that connects, or: system.",
        "schema": {"type": ["string", "null"]},
    },
    "sslcert": {"label": "Client certificate", "description": "A file.", "schema": {"type": ["string", "null"]}},
    "sslkey": {"label": "Client key", "description": "A file.", "schema": {"type": ["string", "null"]}},
    "connect_timeout": {
        "label": "Seconds to connect",
        "schema": {"type": ["integer", "null"], "minimum": 1},
    },
}

CONNECTION: dict[str, Any] = {
    "connection-type": CONNECTION_TYPE,
    "hook-class-name": "airflow_ddlrepl.hooks.replication_database.ReplicationDatabaseHook",
    "hook-name": "Replication database",
    "ui-field-behaviour": {
        "hidden-fields": [],
        "relabeling": {"schema": "Database", "login": "Role"},
        "placeholders": {"host": "db.example.com", "port": "5432"},
    },
    "conn-fields": CONNECTION_FIELDS,
}

INTEGRATION = {"integration-name": "DDL Replication", "logo": "/ddlrepl/static/icon.svg", "tags": ["software"]}

OPTIONS: dict[str, dict[str, Any]] = {
    "channels": {
        "description": "Channel files or folders of them, separated as in PATH; each file becomes a DAG.",
        "version_added": "0.1.0",
        "type": "string",
        "example": "/etc/ddlrepl/channels",
        "default": "",
    },
    "spark_conn_id": {
        "description": "The Spark connection of the tasks. Empty: Spark runs on the worker itself, all cores.",
        "version_added": "0.1.0",
        "type": "string",
        "example": "spark_default",
        "default": "",
    },
    "spark_submit": {
        "description": "Which apps start by spark-submit. cluster: those of a cluster; with a local master an app is a"
        " Python process, whose Spark begins when there is work for it. always: those of a local master, too.",
        "version_added": "0.1.0",
        "type": "string",
        "example": "always",
        "default": "cluster",
    },
    "preload": {
        "description": "Does the process that Airflow forks its tasks from (scheduler with the LocalExecutor, Celery"
        " worker) import this package when it starts? Tasks start a second or two sooner; true or false.",
        "version_added": "0.1.0",
        "type": "boolean",
        "example": "false",
        "default": "true",
    },
    "pool": {
        "description": "Pool of all tasks; {channel} in it is the channel's name. It has to exist; with one slot runs"
        " wait for each other. Empty: Airflow's default pool.",
        "version_added": "0.1.0",
        "type": "string",
        "example": "ddlrepl__{channel}",
        "default": "",
    },
    "spark_ui_url": {
        "description": "Address of the Spark UI (master or history server) that tasks link to. Empty: no link.",
        "version_added": "0.1.0",
        "type": "string",
        "example": "https://spark-history.example.com",
        "default": "",
    },
    "repository": {
        "description": "The repository that the pages on replication read: a URL, or the id of a connection. Empty:"
        " the one of the channel's file, which then has to be on the API server's machine.",
        "version_added": "0.1.0",
        "type": "string",
        "example": "ddlrepl_repository",
        "default": "",
    },
    "result_dir": {
        "description": "Folder where apps leave their result for the task. Empty: the worker's temporary folder.",
        "version_added": "0.1.0",
        "type": "string",
        "example": "/var/lib/ddlrepl/results",
        "default": "",
    },
}


def get_provider_info() -> dict[str, Any]:
    """Return the package's description, which fits Airflow's provider_info.schema.json."""
    return {
        "package-name": "airflow-ddlrepl",
        "name": "DDL Replication",
        "description": "Replicates databases together with their schema changes, with PySpark.",
        "integrations": [INTEGRATION],
        "operators": [
            {
                "integration-name": "DDL Replication",
                "python-modules": [
                    "airflow_ddlrepl.operators.capture",
                    "airflow_ddlrepl.operators.adapt_ddl",
                    "airflow_ddlrepl.operators.refresh",
                    "airflow_ddlrepl.operators.integrate",
                    "airflow_ddlrepl.operators.streams.propagate",
                    "airflow_ddlrepl.operators.streams.sync_capture",
                    "airflow_ddlrepl.operators.streams.apply",
                    "airflow_ddlrepl.operators.rewind",
                    "airflow_ddlrepl.operators.controls",
                    "airflow_ddlrepl.operators.enroll",
                    "airflow_ddlrepl.operators.plan",
                    "airflow_ddlrepl.operators.compare",
                    "airflow_ddlrepl.operators.cutover",
                    "airflow_ddlrepl.operators.approve",
                    "airflow_ddlrepl.operators.streams.messages",
                ],
            }
        ],
        "sensors": [
            {
                "integration-name": "DDL Replication",
                "python-modules": ["airflow_ddlrepl.operators.streams.messages"],
            }
        ],
        "hooks": [
            {
                "integration-name": "DDL Replication",
                "python-modules": ["airflow_ddlrepl.hooks.replication_database"],
            }
        ],
        "connection-types": [CONNECTION],
        "extra-links": [
            "airflow_ddlrepl.operators.links.ChannelStatusLink",
            "airflow_ddlrepl.operators.links.ExecutedSqlLink",
            "airflow_ddlrepl.operators.links.DdlHistoryLink",
            "airflow_ddlrepl.operators.links.SparkUiLink",
        ],
        "asset-uris": [{"schemes": ["ddlrepl"], "handler": None}],
        "bundles": [
            {"integration-name": "DDL Replication", "python-modules": ["airflow_ddlrepl.bundles"]},
        ],
        "cli": ["airflow_ddlrepl.provider.cli_commands"],
        "config": {"ddlrepl": {"description": "Channels and how their tasks run.", "options": OPTIONS}},
    }
