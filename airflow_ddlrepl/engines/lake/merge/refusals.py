"""This module says what it means that Spark refuses rows of a table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from airflow_ddlrepl.engines.lake.connection.errors import explained, is_spark, java_causes, line
from airflow_ddlrepl.errors import DdlReplError, KeyTaken, RowsRefused, ServerRefusal
from airflow_ddlrepl.model.names import TableName

REPAIR = "load the table again: ddlrepl refresh --table; ddlrepl compare shows which rows differ"
MISSING = "rows are missing in the target, such as that of the key ("
TAKEN = "rows are in the target already, such as that of the key ("
"""How the text begins by which a MERGE fails; the key and a parenthesis follow."""
_FAILED = re.compile(rf"\[USER_RAISED_EXCEPTION\] ({re.escape(MISSING)}|{re.escape(TAKEN)})(.{{0,500}})", re.DOTALL)


@contextmanager
def refusals(name: TableName) -> Iterator[None]:
    """Raise an error that says where and what to do, for what Spark refuses of a table's rows inside the `with`."""
    try:
        yield
    except DdlReplError as error:
        raise error.about(table=name) from None
    except Exception as error:
        if not is_spark(error):
            raise
        told_by_merge = (_FAILED.match(message) for _, message in java_causes(error))
        if found := next(filter(None, told_by_merge), None):
            told = found[1] + found[2].partition(" SQLSTATE: ")[0]
            kind, code = (KeyTaken, "INT-102") if found[1] == TAKEN else (RowsRefused, "INT-101")
            raise kind(told, code=code, table=name, hint=REPAIR) from None
        if (known := explained(error)) is not None and not isinstance(known, ServerRefusal):
            raise known.about(table=name) from None
        raise RowsRefused(
            f"the target refuses rows: {line(error)}",
            code="INT-105",
            table=name,
            hint="was the target's table changed by hand? where a column has another type: ddlrepl refresh CHANNEL.yaml"
            " --table schema.table",
        ) from None
