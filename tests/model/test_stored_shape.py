"""A stored shape is the shape, however it is looked at first; what needs no look costs none."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given

from airflow_ddlrepl.model.stored import stored
from airflow_ddlrepl.model.table import Table
from tests.support.shapes import tables

LOOKS: dict[str, Callable[[Table], Any]] = {
    "its fields": asdict,
    "its hash": hash,
    "its text": repr,
    "equality": lambda table: [table == table.with_(), table == table.with_(unlogged=not table.unlogged)],
    "a copy": copy.deepcopy,
    "another process": lambda table: pickle.loads(pickle.dumps(table)),
    "a change": lambda table: replace(table, unlogged=True),
    "storage": lambda table: table.storage,
    "id": lambda table: table.id,
    "name": lambda table: table.name,
    "partitioned": lambda table: table.is_partitioned,
    "expressions": lambda table: table.has_expressions,
    "types": lambda table: table.type_ids,
    "types of its own": lambda table: table.types,
}


def texts(table: Table) -> list[str]:
    """As SQLAlchemy writes it, as jsonb does (shorter names first), as anybody else may."""
    data = table.to_json()
    short_first = json.dumps(dict(sorted(data.items(), key=lambda item: (len(item[0]), item[0]))))
    return [json.dumps(data), short_first, json.dumps(data, separators=(",", ":"), sort_keys=True)]


@given(tables())
def test_every_look_shows_the_shape(table: Table) -> None:
    for text in texts(table):
        for what, look in LOOKS.items():
            assert look(stored(text)) == look(table), what
        assert stored(text) == table and table == stored(text) and stored(text) == stored(text)
        assert stored(text).storage == table.storage and type(copy.copy(stored(text))) is Table


@given(tables())
def test_a_text_that_quotes_a_shape_misleads_nobody(table: Table) -> None:
    quoted = json.dumps({"oid": 99_999, "partition_key": None, "types": [], "id": 1})
    columns = tuple(replace(column, default=quoted) for column in table.columns)
    loud = table.with_(columns=columns, partition_key=f"LIST (({quoted!r}))")
    for text in texts(loud):
        assert stored(text).is_partitioned and stored(text).id == loud.id
        assert stored(text).type_ids == loud.type_ids
        assert stored(text).types == loud.types


def test_a_text_that_is_no_shape_shows_at_the_first_look() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        _ = stored("{").name


@given(tables())
def test_many_may_look_at_once(table: Table) -> None:
    shape = stored(json.dumps(table.to_json()))
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(lambda _: shape == table, range(8)))
