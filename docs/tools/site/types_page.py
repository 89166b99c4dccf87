"""Write the page of the types: between which of them a column changes by ALTER, and when its table is loaded again."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from airflow_ddlrepl.engines.postgres.types import casts
from airflow_ddlrepl.engines.postgres.types.type_system import POSTGRES_TYPES
from airflow_ddlrepl.model.types import DataType
from airflow_ddlrepl.ports.types import Cast

INTRODUCTION = """\
# Types

Types of PostgreSQL itself are replicated as they are, and arrays of them. A target gets enums, domains, composite and
range types as the source has them. `xml` becomes text where a server was built without it.
[PostgreSQL](../postgresql.md#limits) has the limits.

## A column gets another type

A target's column is altered with its values where the cast gives the same values on every server. Else the table is
loaded again, as `on_enroll_break` says ([schema changes and policies](../schema_changes.md)). The same holds for arrays
of these types. A statement that did not rewrite the rows at the source needs no load, either.

- **Wider**: every value stays the same. **By ALTER**: values may be rounded, or cut, alike at both ends.
- **\\***: where the time zone of the statement is known, which it is with event triggers.
- **With `USING column::type`** these are carried as well. Any other `USING` has the table loaded again.
"""
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
    return "\n".join([INTRODUCTION, *head, *(_row(name) for name in TYPES), ""])


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
