"""Tell OpenLineage which tables and columns of a target come from which of the source, where its provider is there."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.flow.targets.data_lineage import (
    ColumnLineage,
    DatabasePlace,
    TableLineage,
    ValuesFrom,
    data_lineage,
)
from airflow_ddlrepl.hooks.connections import connections_file
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table

TRANSFORMATION = {
    ValuesFrom.COLUMN: ("DIRECT", "IDENTITY"),
    ValuesFrom.FUNCTION: ("DIRECT", "TRANSFORMATION"),
    ValuesFrom.EXPRESSION: ("DIRECT", "TRANSFORMATION"),
}
"""OpenLineage's type and subtype of a transformation; what is about the change has no column that it comes from."""


def operator_lineage(channel: Channel) -> Any:
    """Return the tables of the source and of the targets with their schemas and columns, as OpenLineage takes them."""
    from airflow.providers.openlineage.extractors import OperatorLineage

    with connections_file(channel):
        tables = data_lineage(channel)
    inputs = {(one.source, one.table.name): _dataset(one.source, one.table.name, one.table) for one in tables}
    return OperatorLineage(inputs=list(inputs.values()), outputs=[_output(one) for one in tables])


def _output(one: TableLineage) -> Any:
    from airflow.providers.common.compat.openlineage.facet import ColumnLineageDatasetFacet

    found = _dataset(one.target, one.shape.name, one.shape)
    fields = {column.column.name: _fields(one, column) for column in one.columns if column.reads}
    found.facets["columnLineage"] = ColumnLineageDatasetFacet(fields=fields)
    return found


def _dataset(place: DatabasePlace, name: TableName, shape: Table) -> Any:
    """Return a dataset with the name that OpenLineage gives a table of PostgreSQL, and its schema."""
    from airflow.providers.common.compat.openlineage.facet import Dataset, SchemaDatasetFacet, SchemaDatasetFacetFields

    fields = [SchemaDatasetFacetFields(name=column.name, type=column.type.text) for column in shape.columns]
    full = f"{place.database}.{name.schema}.{name.name}"
    return Dataset(f"postgres://{place.host}:{place.port}", full, facets={"schema": SchemaDatasetFacet(fields=fields)})


def _fields(one: TableLineage, column: ColumnLineage) -> Any:
    from airflow.providers.common.compat.openlineage.facet import Fields, InputField
    from openlineage.client.facet_v2 import column_lineage_dataset

    kind, subtype = TRANSFORMATION[column.origin]
    source = _dataset(one.source, one.table.name, one.table)
    how = column_lineage_dataset.Transformation(type=kind, subtype=subtype, description=column.description)
    return Fields(
        inputFields=[
            InputField(namespace=source.namespace, name=source.name, field=name, transformations=[how])
            for name in column.reads
        ]
    )
