"""Which key columns compare by their bytes, and which must be asked from the target."""

from __future__ import annotations

import pytest

from airflow_ddlrepl.engines.postgres.types.equality import equality
from airflow_ddlrepl.engines.postgres.types.underlying import schema_of
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import DataType, TypeDefinition, TypeKind
from airflow_ddlrepl.ports.types import Equality


def builtin(text: str, name: str, kind: TypeKind = TypeKind.BASE) -> DataType:
    return DataType(text, "pg_catalog", name, kind)


def domain(base: str, collation: str | None = None) -> tuple[DataType, TypeDefinition]:
    definition = TypeDefinition(1, 'my "shop"', "Code.1", TypeKind.DOMAIN, base=base, collation=collation)
    return DataType('"my ""shop"""."Code.1"', 'my "shop"', "Code.1", TypeKind.DOMAIN), definition


CITEXT = DataType("public.citext", "public", "citext", extension="citext")
PLAIN = [
    (builtin("bigint", "int8"), "native", None, Equality.BYTES),
    (builtin("character varying(20)", "varchar"), "native", None, Equality.BYTES),
    (builtin("text", "text"), "native", 'pg_catalog."C"', Equality.BYTES),
    (builtin("text", "text"), "native", "public.blind", Equality.TARGET),
    (builtin("character(5)", "bpchar"), "native", None, Equality.BLANKS),
    (builtin("numeric(12,2)", "numeric"), "binary", None, Equality.NUMERIC),
    (builtin("numeric", "numeric"), "text", None, Equality.NUMERIC_TEXT),
    (builtin("double precision", "float8"), "text", None, Equality.FLOAT),
    (builtin("interval", "interval"), "binary", None, Equality.TARGET),
    (builtin("jsonb", "jsonb"), "native", None, Equality.TARGET),
    (builtin("numeric[]", "numeric", TypeKind.ARRAY), "binary", None, Equality.TARGET),
    (builtin("int4range", "int4range", TypeKind.RANGE), "binary", None, Equality.TARGET),
    (DataType("shop.state", "shop", "state", TypeKind.ENUM), "native", None, Equality.BYTES),
    (CITEXT, "text", None, Equality.TARGET),
]


@pytest.mark.parametrize("type_,encoding,collation,wanted", PLAIN)
def test_plain_types(type_: DataType, encoding: str, collation: str | None, wanted: Equality) -> None:
    assert equality(Column(1, "k", type_, collation=collation), encoding) is wanted


@pytest.mark.parametrize(
    "base,collation,wanted",
    [
        ("bigint", None, Equality.BYTES),
        ("character varying(20)", None, Equality.BYTES),
        ("character(5)", None, Equality.BLANKS),
        ("numeric(8,2)", None, Equality.NUMERIC),
        ("text", "public.blind", Equality.TARGET),
        ("public.citext", None, Equality.TARGET),
        ("text[]", None, Equality.TARGET),
    ],
)
def test_domains_compare_as_what_they_are_over(base: str, collation: str | None, wanted: Equality) -> None:
    type_, definition = domain(base, collation)
    assert equality(Column(1, "k", type_), "binary", [definition]) is wanted


def test_domains_over_domains() -> None:
    _, inner = domain("timestamp(3) without time zone")
    outer = TypeDefinition(2, "shop", "at", TypeKind.DOMAIN, base='"my ""shop"""."Code.1"')
    column = Column(1, "k", DataType("shop.at", "shop", "at", TypeKind.DOMAIN))
    assert equality(column, "native", [inner, outer]) is Equality.BYTES


def test_where_an_extensions_equality_lives() -> None:
    type_, definition = domain("public.citext")
    assert schema_of(CITEXT, []) == "public"
    assert schema_of(type_, [definition]) == "public"
    assert schema_of(domain("text[]")[0], [domain("text[]")[1]]) == ""
    assert schema_of(builtin("text", "text"), []) == ""
