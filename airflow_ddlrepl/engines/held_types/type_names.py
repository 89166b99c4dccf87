"""This module finds the name of the type that a target holds a source's type as."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from airflow_ddlrepl.model.types import DataType, TypeDefinition, below_domains

MOST_DIGITS = 38
"""So many digits the decimals of such targets have at most."""
_MODIFIERS = re.compile(r"\(([^)]*)\)")
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)", re.IGNORECASE)


def held_as(of: DataType, types: Sequence[TypeDefinition], names: Mapping[str, str], text: str) -> str:
    """Return the target's name of the type that a type is held as.

    types: the table's user-defined types. names: what the target calls its equals of the source's types. text: its
    type for all others, with the source's text of each value.
    """
    known = below_domains(of, types)
    if known is None:
        return text
    found = _MODIFIERS.search(known)
    plain = " ".join(_MODIFIERS.sub("", known).split())
    if plain == "numeric" and found is not None:
        precision, _, scale = found[1].partition(",")
        digits, places = int(precision), int(scale or 0)
        return f"DECIMAL({digits},{places})" if digits <= MOST_DIGITS and 0 <= places <= digits else text
    return names.get(plain, text)


def decimal_size(name: str) -> tuple[int, int] | None:
    """Return the digits of a decimal, and those of them behind the point; None for another type. name: anybody's."""
    found = _DECIMAL.fullmatch(name)
    return (int(found[1]), int(found[2])) if found else None
