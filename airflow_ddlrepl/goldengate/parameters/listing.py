"""This module finds the TABLE that lists a name, and whether TABLEEXCLUDE or MAPEXCLUDE leaves a listed name out."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.goldengate.parameters.extract import ExtractParameters, TableParameter
from airflow_ddlrepl.goldengate.parameters.names import NameIndex, index_of
from airflow_ddlrepl.goldengate.parameters.prepared import prepared_once
from airflow_ddlrepl.goldengate.parameters.replicat import ReplicatParameters
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.notation.name_pattern import is_pattern


def table_of(name: TableName, parameters: ExtractParameters) -> TableParameter | None:
    """Return the first TABLE that lists a name, which decides about its rows; None: no TABLE does."""
    found = [parameters.tables[number] for number in _index(parameters.tables).matching(name)]
    if not found or (parameters.exclude and is_excluded(name, parameters, [one.table for one in found])):
        return None
    return found[0]


def is_excluded(name: TableName, parameters: ExtractParameters | ReplicatParameters, listed: Sequence[str]) -> bool:
    """Is a name left out by `exclude`? listed: the patterns of TABLE or MAP that match it."""
    if not parameters.exclude:
        return False
    excluding = [parameters.exclude[number] for number in index_of(parameters.exclude).matching(name)]
    if parameters.exclude_wildcard_objects_only and not all(map(is_pattern, listed)):
        return not all(map(is_pattern, excluding))
    return bool(excluding)


@prepared_once
def _index(tables: tuple[TableParameter, ...]) -> NameIndex:
    return NameIndex([one.table for one in tables])
