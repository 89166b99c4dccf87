"""The connection type "Replication database": a source or target of channels, with a test of what replication needs."""

from __future__ import annotations

import json
from contextlib import closing
from typing import Any

from airflow.sdk import BaseHook

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.location import from_connection
from airflow_ddlrepl.engines import of_sources, of_targets
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.get_provider_info import CONNECTION_TYPE
from airflow_ddlrepl.hooks.connections import connection_fields

NOTHING = "ddlrepl_connection_test.nothing"
"""A pattern of a table that no database has: the test asks for rights at the server, not on tables."""


class ReplicationDatabaseHook(BaseHook):
    """This hook knows a database that channels read from, write to, or both, by an Airflow connection.

    A channel file names the connection's id as a location. The connection's fields are those of PostgreSQL's clients
    (`sslmode`, …), and `use`: what the test button looks at.
    """

    conn_name_attr = "ddlrepl_conn_id"
    default_conn_name = "ddlrepl_default"
    conn_type = CONNECTION_TYPE
    hook_name = "Replication database"

    def __init__(self, ddlrepl_conn_id: str = default_conn_name, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.ddlrepl_conn_id = ddlrepl_conn_id

    def get_conn(self) -> str:
        """Return the connection as a URL with its password, as the product's engines take it."""
        fields = connection_fields(self.get_connection(self.ddlrepl_conn_id)) or {}
        return from_connection(json.dumps(fields), self.ddlrepl_conn_id)

    def test_connection(self) -> tuple[bool, str]:
        """Return whether the database answers and its role has the rights for its use, and what is missing.

        Without a `use`, one of both suffices. Nothing is changed, and no table is read.
        """
        try:
            url, use = self.get_conn(), self.get_connection(self.ddlrepl_conn_id).extra_dejson.get("use") or ""
            answer, target_fix = of_targets(url).target_rights(url)
            problems = {
                "source": _at_source(url) if use in ("", "source", "both") else None,
                "target": ([f"schemas can't be created: {target_fix}"] if target_fix else [])
                if use in ("", "target", "both")
                else None,
            }
        except DdlReplError as error:
            return False, str(error)
        asked = {what: found for what, found in problems.items() if found is not None}
        good = [what for what, found in asked.items() if not found]
        told = [f"as a {what}: {'; '.join(found) or 'ready'}" for what, found in asked.items()]
        return len(good) == len(asked) or (not use and bool(good)), "\n".join((answer, *told))


def _at_source(url: str) -> list[str]:
    """Return what a first activation would lack at the server, besides rights on tables."""
    data = {"channel": "connection_test", "source": {"location": "here", "tables": [NOTHING]}}
    channel = Channel.model_validate({**data, "targets": [{"name": "none", "location": "there"}]})
    with closing(of_sources(url).source(channel, url)) as source:
        return [f"{problem.what}: {problem.fix}" for problem in source.missing_rights()]
