"""This module orders renames of tables in a catalog that renames one after the other."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from airflow_ddlrepl.model.names import TableName


def beside(name: TableName) -> TableName:
    """Return a name for a table whose own another table has yet."""
    return TableName(name.schema, f"{name.name}_ddlrepl_{secrets.token_hex(4)}")


def in_order(renamed: Sequence[tuple[str, TableName, TableName]]) -> list[tuple[str, TableName, TableName]]:
    """Return renames in an order in which no name is taken; tables that swap names go over a third one."""
    found, left = list[tuple[str, TableName, TableName]](), list(renamed)
    while left:
        taken = {old for _, old, _ in left}
        free = next((one for one in left if one[2] not in taken), None)
        if free is None:
            uuid, old, new = left.pop(0)
            third = beside(new)
            found.append((uuid, old, third))
            left.append((uuid, third, new))
        else:
            left.remove(free)
            found.append(free)
    return found
