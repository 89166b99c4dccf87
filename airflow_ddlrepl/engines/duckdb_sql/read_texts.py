"""This module reads the texts of a source's values as values of another type, which a target's column has.

A text fits where PostgreSQL would read it as the same value: DuckDB alone would also read 1.5 as a whole number, and
cut a moment to a time of day.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from airflow_ddlrepl.engines.duckdb_sql.arrow import fetched, field_for
from airflow_ddlrepl.engines.duckdb_sql.instances import scratch
from airflow_ddlrepl.engines.duckdb_sql.quoting import literal
from airflow_ddlrepl.engines.duckdb_sql.text_sql import JSON, TEXT, from_text
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import DataType

_BLANKS = literal(" \t\n\r\f\v")
_DIGITS = r"([0-9]+\.?[0-9]*|\.[0-9]+)"
_DAY = r"[0-9]{4,}-[0-9]{2}-[0-9]{2}"
_HOUR = r"([01][0-9]|2[0-3]):[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
_ZONE = r"([+-][0-9]{2}(:[0-9]{2})?)?"
_MOMENT = rf"{_DAY}([ t]{_HOUR}(z|{_ZONE}))?( bc)?|-?infinity"
_HEX = "[0-9a-f]"
_PATTERNS = {
    **dict.fromkeys(("SMALLINT", "INTEGER", "BIGINT"), "[+-]?[0-9]+"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), rf"[+-]?({_DIGITS}(e[+-]?[0-9]+)?|inf|infinity)|nan"),
    **dict.fromkeys(("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"), _MOMENT),
    "DECIMAL": rf"[+-]?{_DIGITS}",  # with an exponent DuckDB reads 5e-5 as 0.01
    "BLOB": rf"\\x({_HEX}{{2}})*",
    "TIME": rf"({_DAY}[ t])?{_HOUR}{_ZONE}|24:00:00",
    "UUID": rf"\{{?{_HEX}{{8}}(-?{_HEX}{{4}}){{3}}-?{_HEX}{{12}}\}}?",
    TEXT: r"[+-]?[0-9]+(\.[0-9]+)?|nan",
}
"""What a text looks like that is read, without blanks around it, by DuckDB's type; as VARCHAR, that of a numeric."""
_TRUE, _FALSE = "t|tr|tru|true|y|ye|yes|on|1", "f|fa|fal|fals|false|n|no|of|off|0"
_LIMITED = ("varchar", "bpchar")
_TEXTS = ("text", *_LIMITED)
_READ = "ddlrepl_read"


def is_read(of: DataType, duckdb_type: str) -> bool:
    """Can texts be read as values of a type, by what the type says of them? duckdb_type: of the values."""
    is_moment = of.name.startswith("time")
    if is_moment and of.modifier >= 0:
        return of.modifier == 6  # DuckDB's have six digits after the point
    return duckdb_type != TEXT or of.name in _TEXTS or (of.name == "numeric" and of.modifier < 0)


def read(text: str, column: Column, duckdb_type: str) -> str:
    """Return SQL for the value that a column reads from a text (SQL); NULL where it is no such value, or NULL itself.

    duckdb_type: DuckDB's type of the column's values.
    A type that is not the channel file's, and that DuckDB holds as a text, takes any.
    """
    of = column.type
    if duckdb_type == TEXT and not (of.is_builtin and of.name == "numeric"):
        size = _size(of)
        return text if size is None else f"CASE WHEN length({text}) <= {size} THEN {text} END"
    if duckdb_type == JSON:
        return f"CASE WHEN NOT {_is(text, '[+-]?(nan|inf.*)')} THEN TRY_CAST({text} AS {JSON}) END"
    bare = f"trim({text}, {_BLANKS})"
    if duckdb_type == "BOOLEAN":
        return f"CASE WHEN {_is(bare, _TRUE)} THEN true WHEN {_is(bare, _FALSE)} THEN false END"
    pattern = _PATTERNS["DECIMAL" if duckdb_type.startswith("DECIMAL") else duckdb_type]
    return f"CASE WHEN {_is(bare, pattern)} THEN {_value(bare, duckdb_type)} END"


def _value(bare: str, to: str) -> str:
    """Return SQL for the value of a text that looks like one."""
    if to == TEXT:
        plain = f"regexp_replace({bare}, '^[+]?(-?)0*([0-9])', '\\1\\2')"
        return f"CASE WHEN {_is(bare, 'nan')} THEN 'NaN' ELSE regexp_replace({plain}, '^-(0([.]0+)?)$', '\\1') END"
    if to in ("FLOAT", "DOUBLE"):
        value = f"TRY_CAST({bare} AS {to})"
        is_lost = f"isinf({value}) OR ({value} = 0 AND regexp_matches(regexp_extract({bare}, '^[^eE]*'), '[1-9]'))"
        return f"CASE WHEN NOT ({is_lost}) OR {bare} ILIKE '%inf%' THEN {value} END"
    if to == "DATE":
        day = f"regexp_extract({bare}, '(?i)^(-?infinity|[0-9-]+)')"
        return from_text(f"concat({day}, CASE WHEN {bare} ILIKE '% bc' THEN ' BC' END)", to, "TRY_CAST")
    if to == "TIME":
        return f"TRY_CAST(regexp_extract({bare}, '[0-9]{{2}}:[0-9:.]+') AS TIME)"
    return from_text(bare, to, "TRY_CAST")


def why_not(text: str, column: Column, duckdb_type: str) -> str:
    """Return SQL for why a column can't hold the value with a text (SQL); NULL: it can. duckdb_type: as of `read`."""
    of, size = column.type, _size(column.type)
    told = f"invalid input syntax for type {of.text}: " if size is None else f"value too long for type {of.text}"
    why = literal(told) if size is not None else f"concat({literal(told)}, '\"', {text}, '\"')"
    return f"CASE WHEN {text} IS NOT NULL AND ({read(text, column, duckdb_type)}) IS NULL THEN {why} END"


def required(text: str, column: Column, duckdb_type: str) -> str:
    """Return SQL for the value that a column reads from a text (SQL); it fails, and says why, where there is none."""
    why = why_not(text, column, duckdb_type)
    told = f"concat({literal(f'column {column.name}: ')}, {why})"
    return f"CASE WHEN ({why}) IS NOT NULL THEN error({told}) ELSE {read(text, column, duckdb_type)} END"


def cut(text: str, column: Column) -> str:
    """Return SQL for a text (SQL) that is cut where it is longer than a column may hold."""
    size = _size(column.type)
    return text if size is None else f"left({text}, {size})"


def values_of(
    texts: Mapping[str, pa.ChunkedArray | pa.Array], duckdb_types: Mapping[str, str], sql: Callable[[str, str], str]
) -> dict[str, pa.Array]:
    """Return values that SQL gives of columns of texts, by their names. duckdb_types: DuckDB's types of the values.

    sql: gives the SQL, from that of a column's text and the column's name. Raises what DuckDB raises of a text.
    """
    at = {name: f"v{place}" for place, name in enumerate(texts)}
    values = {at[name]: sql(at[name], name) for name in texts}
    types = {at[name]: duckdb_types[name] for name in texts}
    place = pa.array(range(len(next(iter(texts.values())))), pa.int64())
    with scratch() as connection:
        connection.register(_READ, pa.table([*texts.values(), place], [*values, "ddlrepl_place"]))
        found = list(fetched(connection, values, types, f"FROM {_READ} ORDER BY ddlrepl_place"))
    whole = pa.Table.from_batches(found, pa.schema([field_for(*one) for one in types.items()])).combine_chunks()
    return dict(zip(texts, (pa.concat_arrays(column.chunks) for column in whole.columns if column.chunks), strict=True))


def _is(text: str, pattern: str) -> str:
    return f"regexp_full_match({text}, {literal(f'(?i)(?:{pattern})')})"


def _size(of: DataType) -> int | None:
    """Return how many characters a type may have; None: it has no limit, or is no text."""
    return of.modifier - 4 if of.is_builtin and of.name in _LIMITED and of.modifier >= 4 else None
