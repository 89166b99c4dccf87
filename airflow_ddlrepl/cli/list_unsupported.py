"""List the tables that clients of Oracle Streams can't support, as DBA_STREAMS_UNSUPPORTED does."""

from __future__ import annotations

from pathlib import Path

from airflow_ddlrepl.cli.commands import with_flow
from airflow_ddlrepl.cli.terminal import Result, Table

COLUMNS = ("client", "kind", "table", "reason", "asked_for")
NONE = "every client can get the rows of every table; a column of any type is supported"


def list_unsupported(path: Path) -> Result:
    """Return each client's tables whose rows it never gets, why, and whether its rules ask for them."""
    return with_flow(
        path,
        lambda flow, run: Table(
            COLUMNS,
            tuple(
                {
                    "client": one.client.name,
                    "kind": one.client.kind.value,
                    "table": str(one.table),
                    "reason": one.why,
                    "asked_for": "yes" if one.is_taken else "no",
                }
                for one in flow.unsupported(run)
            ),
            NONE,
        ),
    )
