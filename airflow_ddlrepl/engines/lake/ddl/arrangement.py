"""This module arranges the rows of a lake's tables as the channel file says: in partitions, and sorted."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from airflow_ddlrepl.engines.lake.ddl.partitions import evolve_partitions, impossible_partition
from airflow_ddlrepl.engines.lake.ddl.sorting import evolve_order, impossible_sort
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.notation.arrangement import NOT_ARRANGED, Arrangement

ArrangementOf = Callable[[TableName], Arrangement]
"""Returns how the channel file arranges the rows of a table, by its name at the target."""
log = logging.getLogger("ddlrepl")


def no_arrangement(name: TableName) -> Arrangement:
    """Return no fields: a table is neither partitioned nor sorted."""
    return NOT_ARRANGED


def require_possible(arrangement: Arrangement, table: Table) -> None:
    """Raise Unsupported ADP-196 for a field that the rows can't be arranged by. table: as at the target."""
    for refusal in (impossible_partition(arrangement.partitions, table), impossible_sort(arrangement.sort, table)):
        if refusal is not None:
            raise refusal


def possible(arrangement: Arrangement, table: Table) -> Arrangement:
    """Return what of an arrangement a table that is there can get; tell of what stays as it is."""
    partitions, sort = arrangement.partitions, arrangement.sort
    if (why := impossible_partition(partitions, table)) is not None:
        log.warning("%s stays partitioned as it is: %s", table.name, why.message)
        partitions = ()
    if (why := impossible_sort(sort, table)) is not None:
        log.warning("%s stays sorted as it is: %s", table.name, why.message)
        sort = ()
    return Arrangement(partitions, sort)


def arrange(java: Any, transaction: Any, arrangement: Arrangement) -> None:
    """Arrange the rows of a table so from now on, in an open transaction; java: the package `org.apache.iceberg`."""
    evolve_partitions(java, transaction, arrangement.partitions)
    evolve_order(java, transaction, arrangement.sort)


def is_arranged(table: Any) -> bool:
    """Are the rows of a table, as Java has it, partitioned or sorted? Then Spark writes them."""
    return bool(table.spec().isPartitioned() or table.sortOrder().isSorted())
