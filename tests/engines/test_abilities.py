"""What only some kinds of database can do is found by its class, and refused by its name where it is missing."""

from __future__ import annotations

import pytest

from airflow_ddlrepl.config.file.load import read_channel
from airflow_ddlrepl.engines import Compares, SourceEngine, TargetEngine, engine, of_sources
from airflow_ddlrepl.engines.abilities.of_source import RetainedLog, RetainsLog
from airflow_ddlrepl.engines.abilities.of_target import HasOwnColumns
from airflow_ddlrepl.engines.ability import able, find
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.flow.mapping.abilities import require_able, require_source_able
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from tests.config.test_restrict import channel

QUEUES = """\
channel: shop
source: {location: postgresql://app@localhost/shop, tables: ["*.*"]}
streams:
  calls:
  - add_schema_rules: {schema_name: hr, streams_type: capture, streams_name: c}
  - add_schema_rules: {schema_name: hr, streams_type: apply, streams_name: a}
  targets: [{name: berlin, location: postgresql://dw@localhost/berlin, apply: a}]
"""


class _Retaining(RetainsLog):
    @property
    def retained_log(self) -> RetainedLog:
        raise AssertionError("it was only looked whether there is one")


def test_an_engine_has_the_abilities_among_its_bases() -> None:
    postgres, duckdb = engine("postgresql://"), engine("duckdb://")
    assert isinstance(postgres, SourceEngine) and isinstance(postgres, TargetEngine)
    assert find(duckdb, SourceEngine) is None and find(duckdb, Compares) is not None


def test_a_file_is_no_source() -> None:
    with pytest.raises(Unsupported, match="ADP-195: this kind of database is no source"):
        of_sources("duckdb:///somewhere.duckdb")


def test_a_refusal_names_the_ability_and_the_table() -> None:
    with pytest.raises(Unsupported, match="ADP-164: target berlin has no tables with deleted rows") as caught:
        able(object(), HasOwnColumns, "target berlin", TableName("public", "t"))
    assert caught.value.table == "public.t" and "target_tables" in (caught.value.hint or "")


def test_a_channel_file_asks_its_source_only_for_what_it_says() -> None:
    require_source_able(channel(), object())
    require_source_able(channel(limits={"retained_log_bytes": "1GB"}), _Retaining())
    with pytest.raises(Unsupported, match="ADP-195: this kind of database does not retain log"):
        require_source_able(channel(limits={"retained_log_bytes": "1GB"}), object())
    with pytest.raises(Unsupported, match="ADP-166: this kind of database has no sequences"):
        require_source_able(channel(db_sequence=True), object())
    with pytest.raises(Unsupported, match="ADP-195: this kind of database does not archive its rows"):
        require_source_able(channel(rewind_horizon={"age": "1d"}), object())
    with pytest.raises(Unsupported, match="ADP-195: this kind of database does not name the sessions"):
        require_source_able(channel(capture={"ignore_sessions": {"origins": ["batch"]}}), object())
    with pytest.raises(Unsupported, match="ADP-195: this kind of database is not read for queues"):
        require_source_able(read_channel(QUEUES), object())


def test_a_channel_file_asks_a_target_for_sequences_before_it_has_tables() -> None:
    found = channel(db_sequence=True)
    with pytest.raises(Unsupported, match="ADP-166: target berlin is of a kind that has no sequences"):
        require_able(found.at("berlin"), [], object())


def test_a_table_whose_statements_are_replayed_asks_for_a_target_that_runs_them() -> None:
    found, orders = channel(replay_ddl=[{"tables": ["public.orders"]}]), Table(1, TableName("public", "orders"), ())
    require_able(found.at("berlin"), [Table(2, TableName("public", "other"), ())], object())
    with pytest.raises(Unsupported, match="ADP-195: target berlin is of a kind that does not run the statements"):
        require_able(found.at("berlin"), [orders], object())
