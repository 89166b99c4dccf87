"""Write docs/types.md, what becomes of each type at each engine's targets: `python -m docs.tools.site.types_page`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from airflow_ddlrepl.engines import engine
from airflow_ddlrepl.engines.postgres.types import casts
from airflow_ddlrepl.engines.postgres.types.type_system import POSTGRES_TYPES
from airflow_ddlrepl.model.types import Attribute, DataType, TypeDefinition, TypeKind
from airflow_ddlrepl.ports.types import Cast, Held, TypeSystem
from docs.tools.product_code import ROOT

PAGE = ROOT / "docs" / "types.md"
INTRODUCTION = """\
# Types

What a column is at a target. **Exact**: every value is the same there, and compares alike. Else the last column says
what is lost; a value that does not fit is treated as `coerce_error_policy` says ([the channel file](channel.md)).

This page is written from the engines' type systems: `python -m docs.tools.site.types_page`.
"""
CHANGES = """\
## A column gets another type

A target's column is altered with its values where the cast gives the same values on every server. Else the table is
loaded again, as `on_enroll_break` says ([schema changes and policies](schema_changes.md)). The same holds for arrays
of these types. A statement that did not rewrite the rows at the source needs no load, either.

- **Wider**: every value stays the same. **By ALTER**: values may be rounded, or cut, alike at both ends.
- **\\***: where the time zone of the statement is known, which it is with event triggers.
- **With `USING column::type`** these are carried as well. Any other `USING` has the table loaded again.
"""
ENGINES = {"postgresql": "PostgreSQL", "duckdb": "DuckDB", "iceberg": "Iceberg"}
"""The engines by the schemes of their locations."""
_ENUM = TypeDefinition(1, "shop", "status", TypeKind.ENUM, labels=("new", "paid"))
_DOMAIN = TypeDefinition(2, "shop", "price", TypeKind.DOMAIN, base="numeric(12,2)")
_COMPOSITE = TypeDefinition(3, "shop", "pair", TypeKind.COMPOSITE, attributes=(Attribute(1, "a", "integer"),))
DEFINED = (_ENUM, _DOMAIN, _COMPOSITE)
LISTED = {
    **{name: name for name in (
        "boolean", "smallint", "integer", "bigint", "numeric(12,2)", "numeric(50,10)", "numeric", "real",
        "double precision", "text", "character varying(20)", "character(3)", "name", "bytea", "uuid", "date",
        "time without time zone", "time with time zone", "timestamp without time zone", "timestamp with time zone",
        "interval", "json", "jsonb", "integer[]", "numeric(12,2)[]", "int4range", "tstzrange", "inet", "macaddr",
        "bit(8)", "money", "oid", "point", "tsvector", "xml",
    )},
    "shop.status": "an enum",
    "shop.price": "a domain over numeric(12,2)",
    "shop.pair": "a composite",
    "public.citext": "a type of an extension",
}  # fmt: skip
"""Types of PostgreSQL, each with what it is called here."""
TYPES = {
    "smallint": casts.INT2,
    "integer": casts.INT4,
    "bigint": casts.INT8,
    "numeric": casts.NUMERIC,
    "real": casts.FLOAT4,
    "double precision": casts.FLOAT8,
    "boolean": casts.BOOL,
    "text": casts.TEXT,
    "varchar": casts.VARCHAR,
    "char": casts.BPCHAR,
    "name": casts.NAME,
    "uuid": casts.UUID,
    "json": casts.JSON,
    "jsonb": casts.JSONB,
    "date": casts.DATE,
    "time": casts.TIME,
    "timetz": casts.TIMETZ,
    "timestamp": casts.TIMESTAMP,
    "timestamptz": casts.TIMESTAMPTZ,
    "interval": casts.INTERVAL,
    "inet": casts.INET,
    "cidr": casts.CIDR,
    "bit": casts.BIT,
    "varbit": casts.VARBIT,
    "bytea": casts.BYTEA,
}
"""Built-in types by their oids, without a length."""


def page() -> str:
    """Return the page as Markdown."""
    head = ["| From | Wider | By ALTER | With `USING column::type` | Loaded again |", "|---|---|---|---|---|"]
    pairs = [line for scheme in ENGINES for line in _pair(scheme)]
    return "\n".join([INTRODUCTION, *pairs, CHANGES, *head, *(_row(name) for name in TYPES), ""])


def _pair(scheme: str) -> Iterator[str]:
    """Yield what becomes of PostgreSQL's types at targets of a kind."""
    types = engine(f"{scheme}://").types
    yield f"## From PostgreSQL to {ENGINES[scheme]}\n"
    yield "| Type at the source | Type at the target | Exact, or what is lost |"
    yield "|---|---|---|"
    for text, shown in LISTED.items():
        found = held(text, types)
        yield f"| {_code(shown, text)} | `{found.type.text}` | {found.loss or 'exact'} |"
    yield ""


def held(text: str, types: TypeSystem) -> Held:
    """Return what a column of this type of PostgreSQL is at a target with such types."""
    of = listed(text)
    if types is not POSTGRES_TYPES:
        return types.representation(POSTGRES_TYPES.family(of, DEFINED))
    lacks = not types.has(of) and of.kind is TypeKind.BASE
    return Held(of, "it is a text where the target's server lacks the type" if lacks else "")


def listed(text: str) -> DataType:
    """Return a type of the page's first tables."""
    schema, _, name = text.rpartition(".")
    kind = next((one.kind for one in DEFINED if (one.schema, one.name) == (schema, name)), TypeKind.BASE)
    return DataType(text, schema or "pg_catalog", name, TypeKind.ARRAY if text.endswith("[]") else kind)


def _code(shown: str, text: str) -> str:
    return f"`{text}`" if shown == text else shown


def _row(name: str) -> str:
    others = [other for other in TYPES if other != name]
    wider = [other for other in others if POSTGRES_TYPES.widens(of(name), of(other))]
    plain = list(_carried(name, others, POSTGRES_TYPES.cast))
    explicit = list(_carried(name, others, POSTGRES_TYPES.explicit_cast))
    by_alter = [other for other in plain if other not in wider]
    by_using = [other for other in explicit if other not in plain and other not in wider]
    carried = {other.removesuffix("\\*") for other in (*wider, *plain, *by_using)}
    rest = "all others" if len(carried) < len(others) else ""
    return f"| `{name}` | {', '.join(wider)} | {', '.join(by_alter)} | {', '.join(by_using)} | {rest} |"


def _carried(name: str, others: list[str], judge: Callable[[DataType, DataType], Cast]) -> Iterator[str]:
    for other in others:
        found = judge(of(name), of(other))
        if found is not Cast.UNKNOWN:
            yield other if found is Cast.SAME_EVERYWHERE else f"{other}\\*"


def of(name: str) -> DataType:
    """Return the built-in type of a name of this page."""
    return DataType(name, "pg_catalog", name, id=TYPES[name])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
