"""This module compiles what is left of a condition to kernels of Arrow, where these mean exactly the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.streams.condition import tree
from airflow_ddlrepl.streams.condition.tree import Image
from airflow_ddlrepl.streams.evaluation.messages import like_pattern
from airflow_ddlrepl.streams.messages import Command

Arrays = Any
"""Arrays and scalars of Arrow, as its kernels take them."""


class NotInKernels(Exception):
    """This error says that a condition has no exact counterpart among Arrow's kernels; its rows are gone through."""


class Batch(NamedTuple):
    """The columns of a batch by name, and what was computed of them already, by the keys of kernels."""

    columns: Mapping[str, Arrays]
    computed: dict[str, Arrays]


class Kernel(NamedTuple):
    """A kernel computes an array from a batch. Kernels with the same key compute the same, once for a batch.

    type: of the values; None: NULL, of any type.
    """

    key: str
    type: pa.DataType | None
    run: Callable[[Batch], Arrays]

    def __call__(self, batch: Batch) -> Arrays:
        found = batch.computed.get(self.key)
        if found is None:
            found = batch.computed[self.key] = self.run(batch)
        return found


class Layout(NamedTuple):
    """A layout says how the columns of a batch are read, for rows with one command.

    types: of the batch's columns. absent: columns of which some new values are absent. needed_before: the value of
    `before` from which on a column has its old value; columns that always have it are not in it.
    """

    command: Command
    types: Mapping[str, pa.DataType]
    absent: frozenset[str]
    needed_before: Mapping[str, int]


_SWAPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_COMPARE: dict[str, Callable[..., Arrays]] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_MOMENT = pa.timestamp("us")
_TEXTS = (pa.types.is_string, pa.types.is_large_string)
_LONG = 10**18


def compiled(node: tree.Truth, layout: Layout) -> Kernel:
    """Return the kernel of a truth. Raises NotInKernels."""
    match node:
        case tree.Known(known):
            return Kernel(repr(known), pa.bool_(), lambda _: pa.scalar(known, pa.bool_()))
        case tree.Comparison(sign, left, right):
            return _comparison(sign, left, right, layout)
        case tree.IsNull(of, negated):
            value = _value(of, layout)
            return _apply("valid" if negated else "null", pc.is_valid if negated else pc.is_null, value)
        case tree.IsAbsent(_, image, column, use_old, negated):
            presence = _presence(image, column, use_old, layout)
            return presence if negated else _apply("not", pc.invert, presence)
        case tree.Among(of, items, negated):
            found = _joined("or", pc.or_kleene, [_comparison("=", of, item, layout) for item in items])
            return _apply("not", pc.invert, found) if negated else found
        case tree.Between(of, low, high, negated):
            pair = [_comparison(">=", of, low, layout), _comparison("<=", of, high, layout)]
            found = _joined("and", pc.and_kleene, pair)
            return _apply("not", pc.invert, found) if negated else found
        case tree.Like():
            return _like(node, layout)
        case tree.Not(of):
            return _apply("not", pc.invert, compiled(of, layout))
        case tree.Holds(of):
            return _apply("holds", lambda found: pc.fill_null(found, False), compiled(of, layout))
        case tree.All(of):
            return _joined("and", pc.and_kleene, [compiled(one, layout) for one in of])
        case tree.AnyOf(of):
            return _joined("or", pc.or_kleene, [compiled(one, layout) for one in of])
    raise NotInKernels(type(node).__name__)


def _apply(name: str, function: Callable[..., Arrays], *of: Kernel, type: pa.DataType | None = None) -> Kernel:
    key = f"{name}({','.join(one.key for one in of)})"
    return Kernel(key, type or pa.bool_(), lambda batch: function(*(one(batch) for one in of)))


def _joined(name: str, function: Callable[..., Arrays], parts: list[Kernel]) -> Kernel:
    found = parts[0]
    for one in parts[1:]:
        found = _apply(name, function, found, one)
    return found


def _comparison(sign: str, left: tree.Value, right: tree.Value, layout: Layout) -> Kernel:
    if isinstance(left, tree.Constant) and not isinstance(right, tree.Constant):
        return _comparison(_SWAPPED[sign], right, left, layout)
    one = _value(left, layout)
    other = _constant(right, one.type) if isinstance(right, tree.Constant) else _value(right, layout)
    if one.type is None or other.type is None:
        return Kernel("None", pa.bool_(), lambda _: pa.scalar(None, pa.bool_()))
    floats = [pa.types.is_floating(kernel.type) for kernel in (one, other)]
    if any(floats) and not isinstance(right, tree.Constant):
        raise NotInKernels("numbers with NaN")
    found = _apply(sign, _COMPARE[sign], one, other)
    if floats[0] and sign in (">", ">="):  # NaN is the greatest number
        found = _apply("or", pc.or_kleene, found, _apply("nan", pc.is_nan, one))
    return found


def _value(node: tree.Value, layout: Layout) -> Kernel:
    match node:
        case tree.Constant():
            return _constant(node, None)
        case tree.Attribute(name=name):
            return _read(f"m_{name}", layout)
        case tree.ColumnValue(_, image, column, _, use_old):
            return _column(image, column, use_old, layout)
        case tree.Call("LENGTH", (of,)):
            return _apply("length", pc.utf8_length, _text(of, layout), type=pa.int32())
        case tree.Call("UPPER" | "LOWER" as name, (of,)):
            function = pc.ascii_upper if name == "UPPER" else pc.ascii_lower
            return _apply(name, lambda texts: function(_ascii(texts)), _text(of, layout), type=pa.string())
        case tree.Call("NVL" | "COALESCE", arguments):
            kernels = _of_one_type(arguments, layout)
            return _apply("coalesce", pc.coalesce, *kernels, type=kernels[0].type)
        case tree.Case(conditions, values, otherwise):
            *results, last = _of_one_type((*values, otherwise), layout)
            for condition, result in zip(conditions[::-1], results[::-1], strict=True):
                holds = compiled(tree.Holds(condition), layout)
                last = _apply("if", pc.if_else, holds, result, last, type=result.type)
            return last
    raise NotInKernels(type(node).__name__)


def _text(node: tree.Value, layout: Layout) -> Kernel:
    found = _value(node, layout)
    if found.type is None or not any(is_text(found.type) for is_text in _TEXTS):
        raise NotInKernels("a text of another type")
    return found


def _ascii(texts: Arrays) -> Arrays:
    """Return texts all of whose characters are ASCII: others have several upper-case forms."""
    if not pc.all(pc.string_is_ascii(texts), skip_nulls=True, min_count=0).as_py():
        raise NotInKernels("a text that is not ASCII")
    return texts


def _of_one_type(values: tuple[tree.Value, ...], layout: Layout) -> list[Kernel]:
    """Return kernels that have one type, as constants take that of the others."""
    known = [_value(one, layout) for one in values if not isinstance(one, tree.Constant)]
    texts = all(isinstance(one, tree.Constant) and isinstance(one.value, str | None) for one in values)
    type = known[0].type if known else pa.string() if texts else None
    if type is None or any(one.type != type for one in known) or pa.types.is_floating(type):
        raise NotInKernels("values of several types")
    found = [_constant(one, type) if isinstance(one, tree.Constant) else _value(one, layout) for one in values]
    if any(one.type not in (type, None) for one in found):
        raise NotInKernels("values of several types")
    return [one if one.type else Kernel(f"{type}null", type, lambda _: pa.scalar(None, type)) for one in found]


def _constant(node: tree.Constant, type: pa.DataType | None) -> Kernel:
    """Return a constant as it is compared with values of a type. Raises NotInKernels for one that would change."""
    value = node.value
    if value is None:
        return Kernel("NULL", None, lambda _: pa.scalar(None))
    if isinstance(value, Decimal):
        return _number(value, type)
    found = pa.scalar(value, _MOMENT) if isinstance(value, datetime) else pa.scalar(value)
    if type is not None and pa.types.is_large_string(type):
        found = pa.scalar(value, type)
    return Kernel(repr(value), found.type, lambda _: found)


def _number(value: Decimal, type: pa.DataType | None) -> Kernel:
    is_whole = value == value.to_integral_value() and abs(value) < _LONG
    if type is not None and pa.types.is_floating(type):
        if Decimal(repr(float(value))) != value:
            raise NotInKernels("a number that is no double")
        found = pa.scalar(float(value), pa.float64())
    elif is_whole and (type is None or pa.types.is_integer(type)):
        found = pa.scalar(int(value), pa.int64())
    else:
        try:
            found = pa.scalar(value)
        except pa.ArrowInvalid:
            raise NotInKernels("a long number") from None
    return Kernel(f"{found.type}{value}", found.type, lambda _: found)


def _column(image: Image, column: str, use_old: bool, layout: Layout) -> Kernel:
    if image is Image.OLD:
        return _old(column, layout)
    new = _read(f"a_{column}", layout)
    if column not in layout.absent:
        return new
    absent = Kernel(f"absent {column}", pa.bool_(), lambda batch: batch.columns[f"n_{column}"])
    if use_old and layout.command is Command.UPDATE and f"b_{column}" in layout.types:
        return _apply("if", pc.if_else, absent, _old(column, layout), new, type=new.type)
    null = Kernel(f"{new.type}null", new.type, lambda _: pa.scalar(None, new.type))
    return _apply("if", pc.if_else, absent, null, new, type=new.type)


def _old(column: str, layout: Layout) -> Kernel:
    old = _read(f"b_{column}", layout)
    if column not in layout.needed_before:
        return old
    null = Kernel(f"{old.type}null", old.type, lambda _: pa.scalar(None, old.type))
    return _apply("if", pc.if_else, _has_old(column, layout), old, null, type=old.type)


def _has_old(column: str, layout: Layout) -> Kernel:
    if f"b_{column}" not in layout.types or layout.command is Command.INSERT:
        return Kernel("False", pa.bool_(), lambda _: pa.scalar(False))
    least = layout.needed_before.get(column)
    if least is None:
        return Kernel("True", pa.bool_(), lambda _: pa.scalar(True))
    return Kernel(f"before{least}", pa.bool_(), lambda batch: pc.greater_equal(batch.columns["before"], least))


def _presence(image: Image, column: str, use_old: bool, layout: Layout) -> Kernel:
    if image is Image.OLD:
        return _has_old(column, layout)
    if column not in layout.absent:
        return Kernel("True", pa.bool_(), lambda _: pa.scalar(True))
    has_new = Kernel(f"has {column}", pa.bool_(), lambda batch: pc.invert(batch.columns[f"n_{column}"]))
    if use_old and layout.command is Command.UPDATE:
        return _apply("or", pc.or_kleene, has_new, _has_old(column, layout))
    return has_new


def _read(name: str, layout: Layout) -> Kernel:
    """Return the kernel that reads a column. Raises NotInKernels for a type whose values kernels would change."""
    type = layout.types.get(name)
    if type is None:
        raise NotInKernels(name)
    if pa.types.is_dictionary(type):
        value = type.value_type
        return Kernel(name, value, lambda batch: pc.cast(batch.columns[name], value))
    if pa.types.is_date(type) or (pa.types.is_timestamp(type) and type.unit in ("s", "ms", "us")):
        return Kernel(name, _MOMENT, lambda batch: pc.cast(batch.columns[name], _MOMENT))
    if pa.types.is_timestamp(type) or pa.types.is_float32(type) or pa.types.is_float16(type):
        raise NotInKernels(str(type))
    return Kernel(name, type, lambda batch: batch.columns[name])


def _like(node: tree.Like, layout: Layout) -> Kernel:
    of = _text(node.of, layout)
    pattern = f"^(?s:{like_pattern(node.pattern, node.escape).pattern})$"
    if "\0" in pattern:
        raise NotInKernels("a text with a zero byte")
    found = _apply(f"like {pattern!r}", lambda texts: pc.match_substring_regex(texts, pattern), of)
    return _apply("not", pc.invert, found) if node.negated else found
