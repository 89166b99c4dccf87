"""This module defines the errors that tell of values which the log does not have, and rules need."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_ddlrepl.errors import RuleError


def lacks_old_values(table: str, what: str) -> RuleError:
    """Return the error RUL-132: a subset rule needs old values of a row. what: which rule, and why."""
    return RuleError(
        what,
        code="RUL-132",
        table=table,
        hint=f"ALTER TABLE {table} REPLICA IDENTITY FULL at the source; rows that were changed before then stay without"
        " their old values: load the table again",
    )


def lacks_new_values(table: str, columns: Iterable[str]) -> RuleError:
    """Return the error RUL-133: an update that comes into a subset, as an insert, lacks values of the row."""
    return RuleError(
        f"an update of {table} comes into a subset, and the log does not have its {', '.join(columns)}",
        code="RUL-133",
        table=table,
        hint="ALTER TABLE … REPLICA IDENTITY FULL lets the log have whole rows",
    )
