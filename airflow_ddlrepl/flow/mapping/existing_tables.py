"""A table of a target may have a name of the channel's without having been made by the channel: it is foreign."""

from __future__ import annotations

from collections.abc import Collection

from airflow_ddlrepl.config.sections.places import Target
from airflow_ddlrepl.config.sections.policies import ExistingTables
from airflow_ddlrepl.engines.target import ServerFacts
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table


def refuse_strangers(facts: ServerFacts, tables: Collection[Table]) -> None:
    """Raise StrangeOwner ADP-192 where one of these tables would use what belongs to a role that is not trusted.

    tables: named as at the target.
    """
    for error in facts.owned_by_strangers(tables).values():
        raise error


def refuse_foreign(target: Target, facts: ServerFacts, name: TableName, of: TableName) -> None:
    """Raise Unsupported ADP-120 where rows of somebody else's would be overwritten. of: the source's table.

    Call `refuse_strangers` before: this reads the table.
    """
    if target.existing_tables is ExistingTables.REFUSE and facts.has_rows(name):
        raise Unsupported(
            f"target {target.name} has a table {name} with rows in it that this channel did not write",
            code="ADP-120",
            table=of,
            hint=f"set `existing_tables: replace` for target {target.name} to overwrite such tables,"
            " or rename that table",
        )
