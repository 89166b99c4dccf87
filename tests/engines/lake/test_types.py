"""As what a lake holds a source's types, which values these hold, and which changes of a type load no table again."""

from __future__ import annotations

import pyarrow as pa
import pytest

from airflow_ddlrepl.engines.lake.types.arrow import as_held, field_for
from airflow_ddlrepl.engines.lake.types.conversions import converted
from airflow_ddlrepl.engines.lake.types.literals import value
from airflow_ddlrepl.engines.lake.types.physical import iceberg_name, physical, spark_name
from airflow_ddlrepl.engines.lake.types.type_system import LAKE_TYPES
from airflow_ddlrepl.engines.postgres.types.arrow_values import POSTGRES_VALUES
from airflow_ddlrepl.engines.postgres.types.type_system import POSTGRES_TYPES
from airflow_ddlrepl.errors import RowsRefused
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.ports.types import Cast, Equality
from docs.tools.site.types_page import DEFINED, LISTED, listed
from tests.engines.duckdb.test_types import of

LAST = 2**63 - 1


def held(type_: str, texts: list[str | None]) -> pa.Array:
    there = physical(of(type_))
    column = Column(1, "c", of(type_))
    found = POSTGRES_VALUES.converted(pa.array(texts, pa.string()), "text", column, field_for("c", there))
    return as_held(found, there, "c")


@pytest.mark.parametrize("text", LISTED)
def test_a_type_is_held_as_its_family_says(text: str) -> None:
    one = listed(text)
    assert physical(one, DEFINED) == LAKE_TYPES.representation(POSTGRES_TYPES.family(one, DEFINED)).type.text


@pytest.mark.parametrize("name", ["BOOLEAN", "INT", "BIGINT", "FLOAT", "DOUBLE", "BINARY", "DATE", "DECIMAL(12,2)"])
def test_a_type_has_one_name_for_spark_and_one_in_the_table(name: str) -> None:
    assert spark_name(iceberg_name(name)) == name
    assert iceberg_name("DECIMAL(12,2)") == "decimal(12, 2)"
    assert (iceberg_name("TIMESTAMP"), iceberg_name("TIMESTAMP_NTZ")) == ("timestamptz", "timestamp")
    assert spark_name("uuid") == "uuid"


@pytest.mark.parametrize(
    ("type_", "text", "number"),
    [
        ("date", "infinity", 2**31 - 1),
        ("date", "0044-03-15 BC", -735160),
        ("timestamp without time zone", "infinity", LAST),
        ("timestamp with time zone", "-infinity", -LAST),
        ("timestamp with time zone", "2020-01-01 00:00:00+05:30", 1577817000000000),
    ],
)
def test_days_and_moments_that_python_lacks_are_held(type_: str, text: str, number: int) -> None:
    values = held(type_, [text, None])
    assert values.view(pa.int32() if type_ == "date" else pa.int64()).to_pylist() == [number, None]


@pytest.mark.parametrize(
    ("type_", "text"),
    [("numeric(10,2)", "NaN"), ("timestamp without time zone", "294276-12-31 00:00:00"), ("integer", "2147483648")],
)
def test_a_value_that_does_not_fit_is_refused_with_its_text(type_: str, text: str) -> None:
    with pytest.raises(RowsRefused, match=text.split(" ", maxsplit=1)[0]) as refused:
        held(type_, [None, text])
    assert refused.value.code == "INT-105"


@pytest.mark.parametrize(
    ("type_", "text", "sql"),
    [
        ("text", "it's a \\", "'it\\'s a \\\\'"),
        ("boolean", "t", "true"),
        ("numeric(10,2)", "-1.50", "-1.50"),
        ("bytea", "\\x00ff", "X'00ff'"),
        ("double precision", "NaN", "CAST('NaN' AS DOUBLE)"),
        ("date", "0044-03-15 BC", "DATE '-0043-03-15'"),
        ("timestamp without time zone", "2020-02-29 23:59:59.5", "TIMESTAMP_NTZ '2020-02-29 23:59:59.5'"),
        ("timestamp with time zone", "2020-01-01 00:00:00+05", "TIMESTAMP '2020-01-01 00:00:00+05:00'"),
        ("bigint", None, "CAST(NULL AS BIGINT)"),
    ],
)
def test_the_text_of_a_value_becomes_a_constant_of_spark(type_: str, text: str | None, sql: str) -> None:
    assert value(text, Column(1, "c", of(type_))) == sql


@pytest.mark.parametrize(
    ("old", "new", "widens"),
    [
        ("smallint", "integer", True),
        ("integer", "smallint", False),
        ("integer", "bigint", True),
        ("bigint", "bigint", True),
        ("bigint", "integer", False),
        ("real", "double precision", True),
        ("numeric(10,2)", "numeric(12,2)", True),
        ("numeric(10,2)", "numeric(12,4)", True),
        ("integer", "numeric(12,2)", True),
        ("integer", "numeric(11,2)", False),
        ("integer", "text", True),
        ("uuid", "text", True),
        ("character varying(5)", "character varying(9)", True),
        ("character varying(9)", "character varying(5)", False),
        ("character varying(5)", "text", True),
        ("date", "timestamp without time zone", False),
    ],
)
def test_only_a_change_that_leaves_all_values_the_same_widens(old: str, new: str, widens: bool) -> None:
    assert LAKE_TYPES.widens(of(old), of(new)) is widens


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("text", "integer"),
        ("date", "text"),
        ("timestamp without time zone", "timestamp with time zone"),
        ("numeric(10,7)", "text"),
        ("double precision", "integer"),
        ("integer", "character varying(9)"),
        ("integer[]", "text"),
    ],
)
def test_what_spark_may_convert_otherwise_than_the_source_is_loaded_again(old: str, new: str) -> None:
    assert converted("c", of(old), of(new)) is None
    assert LAKE_TYPES.cast(of(old), of(new)) is Cast.UNKNOWN


@pytest.mark.parametrize(
    ("type_", "default", "why"),
    [
        ("text", "'new'::text", ""),
        ("integer", "0", ""),
        ("integer", "-7", ""),
        ("boolean", "false", ""),
        ("numeric(12,2)", "0.5", ""),
        ("numeric(12,2)", "0.555", "more digits"),
        ("date", "'2020-01-01'::date", ""),
        ("timestamp with time zone", "now()", "constant"),
        ("integer", "1.5", "another value"),
        ("jsonb", "'{}'::jsonb", "another value"),
        ("character(3)", "'a'::bpchar", "another value"),
        ("bigint", "nextval('s'::regclass)", "constant"),
    ],
)
def test_a_default_is_a_constant_that_is_the_same_there(type_: str, default: str, why: str) -> None:
    found = LAKE_TYPES.why_no_default(Column(1, "c", of(type_), default=default))
    assert (why in found) if why else not found


def test_keys_compare_as_the_lake_holds_them() -> None:
    column = Column(1, "c", of("numeric(10,2)"))
    assert LAKE_TYPES.equality(column, "binary") is Equality.NUMERIC
    assert LAKE_TYPES.equality(Column(1, "c", of("numeric")), "binary") is Equality.BYTES
    assert LAKE_TYPES.equality(Column(1, "c", of("real")), "binary") is Equality.FLOAT
