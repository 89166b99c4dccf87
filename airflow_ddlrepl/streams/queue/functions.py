"""This module has what custom functions can use: they are marked by it, and rename tables in DDL statements with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.sql.dialect import OURS
from airflow_ddlrepl.sql.mentions import mentioned
from airflow_ddlrepl.sql.names import read
from airflow_ddlrepl.sql.scan import scan
from airflow_ddlrepl.sql.spelling import Change, with_names
from airflow_ddlrepl.streams.messages import DdlLcr
from airflow_ddlrepl.streams.queue.custom_functions import BATCHES

Function = TypeVar("Function", bound=Callable[..., Any])


def takes_batches(function: Function) -> Function:
    """Mark a function for row changes that takes an Arrow record batch and returns one, instead of an LCR.

    Its columns are `op` (INSERT, UPDATE or DELETE), and for each column of the table `a_NAME` with the new values and
    `b_NAME` with the old ones, as far as the log has them. The result has as many rows in the same order; columns may
    have other values, be missing or be new. With `is_array` at a capture the function may return a pair: the record
    batch with the rows that stay, and an array of booleans that says of each row whether it stays.
    """
    setattr(function, BATCHES, True)
    return function


def with_table_names(lcr: DdlLcr, names: Mapping[str, str]) -> DdlLcr:
    """Return a DDL LCR with other names of tables, in its attributes and in its text. names: SCHEMA.TABLE by itself."""
    tables = {TableName(*old.split(".", 1)): TableName(*new.split(".", 1)) for old, new in names.items()}
    reading = read(lcr.text)
    places = [*reading.objects, *([reading.base] if reading.base else []), *mentioned(scan(lcr.text), OURS)]
    changes = {
        (place.start, place.end): Change(place, tables[name])
        for place in places
        if (name := TableName(place.schema or lcr.current_schema, place.name)) in tables
    }
    own = tables.get(TableName(lcr.owner or "", lcr.name or ""))
    base = tables.get(TableName(lcr.base_owner or "", lcr.base_name or ""))
    return replace(
        lcr,
        text=with_names(lcr.text, changes.values(), OURS),
        owner=own.schema if own else base.schema if base else lcr.owner,
        name=own.name if own else lcr.name,
        base_owner=base.schema if base else lcr.base_owner,
        base_name=base.name if base else lcr.base_name,
    )
