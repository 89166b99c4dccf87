"""This module has a metadata file as PyIceberg reads it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from airflow_ddlrepl.engines.lake.catalog.piecewise.port import Metadata

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata


def parsed(metadata: Metadata) -> TableMetadata:
    """Return what a metadata file has."""
    from pyiceberg.table.metadata import TableMetadataUtil

    return TableMetadataUtil.parse_raw(json.dumps(dict(metadata)))
