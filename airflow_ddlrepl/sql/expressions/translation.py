"""This module writes an expression of PostgreSQL's for DuckDB, where it gives exactly the same values there.

sqlglot reads and writes. What an expression says must be listed here, with the families of types for which both
engines give the same: an integer divided by another one is a fraction in DuckDB, texts are ordered by another
collation, a session's time zone is not the source's. What is not listed is left out and told, never guessed. Each row
was executed at both engines (tests/sql/test_expression_translation.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from airflow_ddlrepl.model.types import Family, TypeFamily
from airflow_ddlrepl.sql.translation import Untranslatable

_Type = exp.DataType.Type
MOST_DIGITS = 38
"""How many digits a decimal of DuckDB has at most."""
_BOOLEAN, _TEXT = TypeFamily(Family.BOOLEAN), TypeFamily(Family.TEXT)
_INTS = {_Type.SMALLINT: 16, _Type.INT: 32, _Type.BIGINT: 64}
_CASTS = {
    **{of: TypeFamily(Family.INT, bits=bits) for of, bits in _INTS.items()},
    _Type.BOOLEAN: _BOOLEAN,
    _Type.FLOAT: TypeFamily(Family.FLOAT, bits=32),
    _Type.DOUBLE: TypeFamily(Family.FLOAT, bits=64),
    _Type.TEXT: _TEXT,
    _Type.VARCHAR: _TEXT,
    _Type.BPCHAR: _TEXT,
    _Type.UUID: TypeFamily(Family.UUID),
    _Type.DATE: TypeFamily(Family.DATE),
    _Type.TIME: TypeFamily(Family.TIME),
    _Type.TIMESTAMP: TypeFamily(Family.TIMESTAMP),
    _Type.TIMESTAMPTZ: TypeFamily(Family.TIMESTAMP_TZ),
    _Type.INTERVAL: TypeFamily(Family.INTERVAL),
    _Type.JSON: TypeFamily(Family.JSON),
    _Type.JSONB: TypeFamily(Family.JSON),
    _Type.VARBINARY: TypeFamily(Family.BYTES),
}
_OPTIONS = frozenset(
    ("this", "expression", "expressions", "is_string", "to", "default", "ifs", "true", "negate", "safe")
)
"""What a part may say; an option that is not here might be lost or mean something else."""
_DAY, _CLOCK = r"\d{4}-\d\d-\d\d", r"\d\d:\d\d:\d\d(?:\.\d{1,6})?"
_CONSTANTS = {
    Family.BOOLEAN: r"t|f|true|false",
    Family.INT: r"-?\d{1,18}",
    Family.DECIMAL: r"-?\d{1,30}(?:\.\d{1,8})?",
    Family.FLOAT: r"-?\d{1,15}(?:\.\d{1,10})?(?:e[-+]?\d{1,2})?|NaN|-?Infinity",
    Family.UUID: r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    Family.DATE: rf"{_DAY}|-?infinity",
    Family.TIME: _CLOCK,
    Family.TIMESTAMP: rf"{_DAY} {_CLOCK}|-?infinity",
    Family.TIMESTAMP_TZ: rf"{_DAY} {_CLOCK}[-+]\d\d(?::\d\d)?|-?infinity",
    Family.INTERVAL: rf"(?:\d+ (?:years?|mons?|days?) ?)*(?:{_CLOCK})?",
    Family.TEXT: r"(?s:.*)",
    Family.ENUM: r"(?s:.*)",
    Family.BYTES: r"\\x(?:[0-9a-f]{2})*",
    Family.ARRAY: r"\{\}",
}
"""The texts that both engines read as the same constant of a family."""
_EQUAL = frozenset(
    (Family.BOOLEAN, Family.INT, Family.DECIMAL, Family.UUID, Family.DATE, Family.TIME, Family.TIMESTAMP, Family.TEXT)
) | {Family.TIMESTAMP_TZ}
_ORDERED = _EQUAL - {Family.TEXT, Family.UUID, Family.BOOLEAN}
_VALUES: Mapping[type[exp.Expression], TypeFamily] = {
    exp.CurrentTimestamp: TypeFamily(Family.TIMESTAMP_TZ),
    exp.Uuid: TypeFamily(Family.UUID),
    exp.Rand: TypeFamily(Family.FLOAT, bits=64),
}
"""Functions without arguments that mean the same in both: the transaction's time, a random UUID, a random number."""


Found = TypeFamily | None
"""The family of a part's values; None for NULL, which is of any."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """A reading finds the family of each part of an expression, and spells casts as DuckDB does.

    It raises Untranslatable for a part without an equal.
    """

    columns: Mapping[str, TypeFamily]

    def family(self, part: exp.Expression) -> Found:
        _require({name for name, value in part.args.items() if value} <= _OPTIONS, part)
        if type(part) in _VALUES:
            _require(not any(part.args.values()), part)
            return _VALUES[type(part)]
        read = next((read for kinds, read in _READ if isinstance(part, kinds)), None)
        if read is None:
            raise _untranslatable(part)
        return read(self, part)

    def families(self, parts: Iterable[exp.Expression]) -> list[TypeFamily]:
        return [found for one in parts if (found := self.family(one)) is not None]

    def inner(self, part: exp.Expression) -> Found:
        return self.family(part.this)

    def column(self, part: exp.Expression) -> Found:
        found = self.columns.get(part.name)
        if found is None or not _is_held(found):
            raise _untranslatable(part)
        return found

    def literal(self, part: exp.Expression) -> Found:
        if part.args["is_string"]:
            return _TEXT
        whole, _, fraction = part.this.partition(".")
        _require(f"{whole}{fraction}".isdigit() and len(whole) < 19 and len(fraction) < 19, part)
        if fraction:
            return TypeFamily(Family.DECIMAL, precision=len(whole) + len(fraction), scale=len(fraction))
        return TypeFamily(Family.INT, bits=32 if int(whole) < 1 << 31 else 64)

    def constant(self, part: exp.Expression) -> Found:
        return _BOOLEAN if isinstance(part, exp.Boolean) else None

    def number(self, part: exp.Expression) -> Found:
        found = self.family(part.this)
        _require(found is not None and found.kind in (Family.INT, Family.DECIMAL, Family.FLOAT), part)
        return found

    def cast(self, part: exp.Expression) -> Found:
        to, inner = _cast_type(part), part.this.unnest()
        if isinstance(inner, exp.Literal) and inner.args["is_string"]:
            _require(_is_constant(inner.this, to), part)
            return _respelled(part, inner, to)
        found = self.family(inner)
        _require(found is None or _casts(found, to), part)
        if found is not None and to == TypeFamily(Family.DECIMAL):
            precision, scale = _size(found, part)
            return _sized(part, precision, scale)
        return to

    def array(self, part: exp.Expression) -> Found:
        items = self.families(part.expressions)
        return TypeFamily(Family.ARRAY, element=_union(items, part) if items else None)

    def arithmetic(self, part: exp.Expression) -> Found:
        found = self.families([part.this, part.expression])
        if {one.kind for one in found} in ({Family.INT}, {Family.FLOAT}):
            return max(found, key=lambda one: one.bits or 0)
        (one, digits), (other, more) = (_size(one, part) for one in (*found, *found)[:2])
        is_product = isinstance(part, exp.Mul)
        scale = digits + more if is_product else max(digits, more)
        precision = one + other if is_product else max(one - digits, other - more) + 1 + scale
        _require(precision <= MOST_DIGITS, part)
        return TypeFamily(Family.DECIMAL, precision=precision, scale=scale)

    def joined(self, part: exp.Expression) -> Found:
        both = self.families([part.this, part.expression])
        _require(all(one.kind is Family.TEXT and not one.is_padded for one in both), part)
        return _TEXT

    def compared(self, part: exp.Expression) -> Found:
        common = _union(self.families([part.this, part.expression]), part)
        allowed = _EQUAL if isinstance(part, exp.EQ | exp.NEQ | exp.Nullif) else _ORDERED
        _require(common is None or common.kind in allowed, part)
        return _BOOLEAN

    def logical(self, part: exp.Expression) -> Found:
        _require(all(one == _BOOLEAN for one in self.families(part.iter_expressions())), part)
        return _BOOLEAN

    def tested(self, part: exp.Expression) -> Found:
        _require(isinstance(part.expression, exp.Null | exp.Boolean), part)
        self.family(part.this)
        return _BOOLEAN

    def chosen(self, part: exp.Expression) -> Found:
        return _union(self.families(part.iter_expressions()), part)

    def nulled(self, part: exp.Expression) -> Found:
        self.compared(part)
        return self.chosen(part)

    def case(self, part: exp.Expression) -> Found:
        _require(part.args.get("this") is None, part)
        for branch in part.args["ifs"]:
            _require(self.family(branch.this) == _BOOLEAN, part)
        default = part.args.get("default")
        results = [branch.args["true"] for branch in part.args["ifs"]]
        return _union(self.families([*results, *([default] if default is not None else [])]), part)

    def length(self, part: exp.Expression) -> Found:
        self.joined(exp.DPipe(this=part.this, expression=part.this))
        return TypeFamily(Family.INT, bits=32)


_READ: Sequence[tuple[tuple[type[exp.Expression], ...], Callable[[_Reading, exp.Expression], Found]]] = (
    ((exp.Paren,), _Reading.inner),
    ((exp.Column,), _Reading.column),
    ((exp.Literal,), _Reading.literal),
    ((exp.Boolean, exp.Null), _Reading.constant),
    ((exp.Neg, exp.Abs), _Reading.number),
    ((exp.Cast,), _Reading.cast),
    ((exp.Array,), _Reading.array),
    ((exp.Add, exp.Sub, exp.Mul), _Reading.arithmetic),
    ((exp.DPipe,), _Reading.joined),
    ((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), _Reading.compared),
    ((exp.And, exp.Or, exp.Not), _Reading.logical),
    ((exp.Is,), _Reading.tested),
    ((exp.Coalesce,), _Reading.chosen),
    ((exp.Nullif,), _Reading.nulled),
    ((exp.Case,), _Reading.case),
    ((exp.Length,), _Reading.length),
)


def for_duckdb(text: str, of: TypeFamily, columns: Mapping[str, TypeFamily] | None = None) -> str:
    """Return an expression of PostgreSQL's in DuckDB's SQL.

    of: the family of the column whose default or generation expression it is. columns: the families of those that it
    may read. Raises Untranslatable, which says which part has no equal.
    """
    try:
        found = parse_one(text, read="postgres")
    except SqlglotError as error:
        raise Untranslatable(f"it can't be read: {' '.join(str(error).split())}") from None
    given = _Reading(columns or {}).family(found)
    if given is not None and not _assigns(given, of, found):
        raise Untranslatable(f"a value of {given} may be another one in a column of {of}: {text}")
    written: str = found.sql(dialect="duckdb", identify=True)
    return written


def _respelled(part: exp.Expression, inner: exp.Expression, to: TypeFamily) -> TypeFamily:
    """Spell a constant as DuckDB reads it, and return its family."""
    if to == TypeFamily(Family.DECIMAL):
        whole, _, fraction = inner.this.lstrip("-").partition(".")
        return _sized(part, len(whole) + len(fraction), len(fraction))
    if to.kind is Family.ENUM:
        part.set("to", exp.DataType.build("VARCHAR", dialect="duckdb"))
    if to.kind is Family.ARRAY:
        part.set("this", exp.Array())
    if to.kind is Family.BYTES:
        inner.set("this", "".join(f"\\x{byte:02X}" for byte in bytes.fromhex(inner.this[2:])))
    return to


def _sized(part: exp.Expression, precision: int, scale: int) -> TypeFamily:
    """Give a cast to a numeric without a size that of its values: DuckDB takes one without a size for (18,3)."""
    _require(precision <= MOST_DIGITS, part)
    part.set("to", exp.DataType.build(f"DECIMAL({precision},{scale})", dialect="duckdb"))
    return TypeFamily(Family.DECIMAL, precision=precision, scale=scale)


def _cast_type(part: exp.Expression) -> TypeFamily:
    """Return the family of the type that a cast names. Raises Untranslatable."""
    return _type(part.args["to"], part)


def _type(to: exp.Expression, part: exp.Expression) -> TypeFamily:
    kind = to.this if isinstance(to, exp.DataType) else None
    if kind is _Type.DECIMAL:
        sizes = [int(one.this.this) for one in to.expressions]
        _require(not sizes or (len(sizes) <= 2 and sizes[0] <= MOST_DIGITS), part)
        precision, scale = (*sizes, 0)[:2] if sizes else (None, None)
        return TypeFamily(Family.DECIMAL, precision=precision, scale=scale)
    if kind is _Type.ARRAY and len(to.expressions) == 1:
        return TypeFamily(Family.ARRAY, element=_type(to.expressions[0], part))
    if kind is _Type.USERDEFINED and isinstance(to.args.get("kind"), exp.Dot):
        return TypeFamily(Family.ENUM)
    if kind not in _CASTS or to.expressions:
        raise _untranslatable(part)
    return _CASTS[kind]


def _is_constant(text: str, to: TypeFamily) -> bool:
    """Return whether both engines read a text as the same constant."""
    if to.kind is Family.JSON:
        try:
            json.loads(text, parse_constant=lambda one: float(f"no {one}"))
        except ValueError:
            return False
        return True
    return bool(re.fullmatch(_CONSTANTS[to.kind], text)) and not (to.kind is Family.INTERVAL and not text)


def _is_held(of: TypeFamily) -> bool:
    """Return whether the target's column has such values itself, not their text."""
    if of.kind is Family.DECIMAL:
        return of.precision is not None and of.precision <= MOST_DIGITS and 0 <= (of.scale or 0) <= of.precision
    return of.kind not in (Family.OTHER, Family.STRUCT, Family.RANGE, Family.ENUM, Family.TIME_TZ) and not of.is_padded


def _size(of: TypeFamily, part: exp.Expression) -> tuple[int, int]:
    """Return precision and scale of an int or a decimal."""
    if of.kind is Family.INT:
        return {16: 5, 32: 10}.get(of.bits or 64, 19), 0
    _require(of.kind is Family.DECIMAL and of.precision is not None, part)
    return of.precision or 0, of.scale or 0


def _union(found: Sequence[TypeFamily], part: exp.Expression) -> Found:
    """Return the family that holds values of all of these."""
    if not found:
        return None
    kinds = {one.kind for one in found}
    if kinds <= {Family.INT, Family.DECIMAL} and Family.DECIMAL in kinds:
        sizes = [_size(one, part) for one in found]
        scale = max(scale for _, scale in sizes)
        precision = max(precision - scale for precision, scale in sizes) + scale
        _require(precision <= MOST_DIGITS, part)
        return TypeFamily(Family.DECIMAL, precision=precision, scale=scale)
    _require(len(kinds) == 1 and (kinds <= {Family.INT, Family.FLOAT, Family.TEXT} or len(set(found)) == 1), part)
    return _TEXT if kinds == {Family.TEXT} else max(found, key=lambda one: one.bits or 0)


def _casts(found: TypeFamily, to: TypeFamily) -> bool:
    """Return whether both engines cast any value of a family to the same one of another."""
    if found.kind is Family.ARRAY:
        return to.kind is Family.ARRAY and found.element in (None, to.element)
    if to.kind is Family.TEXT:
        return found.kind in (Family.TEXT, Family.INT, Family.BOOLEAN, Family.UUID)
    if to == TypeFamily(Family.DECIMAL):
        return found.kind in (Family.INT, Family.DECIMAL)
    return _is_held(to) and _grows(found, to)


def _assigns(value: TypeFamily, of: TypeFamily, found: exp.Expression) -> bool:
    """Return whether a value that an expression gives is the same in a column of both engines."""
    if value.kind in (Family.TEXT, Family.ENUM):
        if of.is_padded:
            inner = found.unnest().this
            return isinstance(inner, exp.Literal) and len(inner.this) == of.length
        return of.kind is value.kind
    if value.kind is Family.ARRAY:
        return of.kind is Family.ARRAY and value.element in (None, of.element)
    return _is_held(of) and (_grows(value, of) or value.kind is of.kind is Family.INT)


def _grows(found: TypeFamily, to: TypeFamily) -> bool:
    """Return whether a type has all values of another one."""
    if to.kind is Family.DECIMAL and found.kind in (Family.INT, Family.DECIMAL):
        if found.kind is Family.INT:
            return True
        return found.scale is None or (to.scale or 0) >= found.scale
    if found.kind in (Family.INT, Family.FLOAT):
        return found.kind is to.kind and (found.bits or 0) <= (to.bits or 0)
    return found.kind is to.kind


def _require(holds: bool, part: exp.Expression) -> None:
    if not holds:
        raise _untranslatable(part)


def _untranslatable(part: exp.Expression) -> Untranslatable:
    return Untranslatable(f"{part.sql(dialect='postgres')} has no equal")
