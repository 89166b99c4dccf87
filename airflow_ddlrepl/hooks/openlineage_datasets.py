"""Tell OpenLineage which tables and columns of a target come from which of the source, where its provider is there."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.flow.targets.data_lineage import (
    ColumnLineage,
    Datasets,
    TableLineage,
    ValuesFrom,
    data_lineage,
)
from airflow_ddlrepl.hooks.connections import connections_file
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
    inputs = {tuple(one.source): _dataset(one.source, one.table) for one in tables}
    return OperatorLineage(inputs=list(inputs.values()), outputs=[_output(one) for one in tables])


def _output(one: TableLineage) -> Any:
    from airflow.providers.common.compat.openlineage.facet import ColumnLineageDatasetFacet

    found = _dataset(one.target, one.shape)
    fields = {column.column.name: _fields(one, column) for column in one.columns if column.reads}
    found.facets["columnLineage"] = ColumnLineageDatasetFacet(fields=fields)
    return found


def _dataset(names: Datasets, shape: Table) -> Any:
    """Return a dataset with its names and its schema."""
    from airflow.providers.common.compat.openlineage import facet

    fields = [facet.SchemaDatasetFacetFields(name=column.name, type=column.type.text) for column in shape.columns]
    facets: dict[str, Any] = {"schema": facet.SchemaDatasetFacet(fields=fields)}
    (namespace, name), *same = names
    if same:
        others = [facet.Identifier(namespace=where, name=what, type="TABLE") for where, what in same]
        facets["symlinks"] = facet.SymlinksDatasetFacet(identifiers=others)
    return facet.Dataset(namespace, name, facets=facets)


def _fields(one: TableLineage, column: ColumnLineage) -> Any:
    from airflow.providers.common.compat.openlineage.facet import Fields, InputField
    from openlineage.client.facet_v2 import column_lineage_dataset

    kind, subtype = TRANSFORMATION[column.origin]
    source = _dataset(one.source, one.table)
    how = column_lineage_dataset.Transformation(type=kind, subtype=subtype, description=column.description)
    return Fields(
        inputFields=[
            InputField(namespace=source.namespace, name=source.name, field=name, transformations=[how])
            for name in column.reads
        ]
    )
