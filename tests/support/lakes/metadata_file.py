"""Metadata files of tables that have no rows, for tests of catalogs alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.errors import DdlReplError


def metadata(folder: Path, number: int, *types: str) -> tuple[str, dict[str, Any]]:
    """A metadata file of a table with columns of these types, and what it has."""
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.table.metadata import new_table_metadata
    from pyiceberg.table.sorting import SortOrder

    fields = [{"id": i, "name": f"c{i}", "type": of, "required": False} for i, of in enumerate(types, 1)]
    schema = Schema.model_validate({"type": "struct", "fields": fields})
    found = new_table_metadata(schema, PartitionSpec(), SortOrder(), f"{folder}/table", {"format-version": "2"})
    path = folder / f"{number}.metadata.json"
    path.write_text(found.model_dump_json())
    return str(path), json.loads(path.read_text())


def code(work: Any) -> str:
    with pytest.raises(DdlReplError) as raised:
        work()
    return raised.value.code
