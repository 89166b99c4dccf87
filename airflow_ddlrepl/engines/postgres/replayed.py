"""Taking away what a replay has built, so that the next one finds the place empty."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.adapt.timeline import Standing, State
from airflow_ddlrepl.engines.postgres.connect import errors
from airflow_ddlrepl.engines.postgres.names import qualified
from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.model.names import TableName

if TYPE_CHECKING:
    from psycopg import Cursor


def clear(cursor: Cursor[Any], standings: Iterable[Standing]) -> None:
    """Drop these tables and their types, in the open transaction. What somebody else uses of the types stays.

    Raises CannotAdapt REW-104 when something that is not ours hangs on a table.
    """
    ours = [standing for standing in standings if standing.state is not State.NEW]
    for standing in ours:
        try:
            with cursor.connection.transaction():
                cursor.execute(f"DROP TABLE IF EXISTS {qualified(standing.name)}".encode())
        except errors().DependentObjectsStillExist as error:
            raise CannotAdapt(
                f"a table of the last rewind can't be removed: {' '.join(str(error).split())}",
                code="REW-104",
                table=standing.name,
                hint="drop what hangs on it",
            ) from None
    names = {TableName(of.schema, of.name): None for standing in ours for of in reversed(standing.shape.types)}
    for name in names:
        try:
            with cursor.connection.transaction():
                cursor.execute(f"DROP TYPE IF EXISTS {qualified(name)}".encode())
        except errors().DependentObjectsStillExist:
            continue
