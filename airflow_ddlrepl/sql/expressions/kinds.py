"""This module parses the other texts of a table that go into SQL: types, checks, partition keys and bounds."""

from __future__ import annotations

from functools import lru_cache

from airflow_ddlrepl.sql.expressions.grammar import expression, operand, parse
from airflow_ddlrepl.sql.expressions.reader import Found, Reader
from airflow_ddlrepl.sql.expressions.words import END, Kind, NotOneText

__all__ = ["is_closed", "parse_bound", "parse_check", "parse_collation", "parse_expression", "parse_key", "parse_type"]

parse_expression = lru_cache(4096)(parse)


@lru_cache(4096)
def parse_type(text: str) -> Found:
    """Return what a type's text names. Raises NotOneText unless the text is one type, as DDL spells it."""
    reader = Reader(text)
    reader.found.types.append(reader.type())
    reader.end()
    return reader.found


@lru_cache(4096)
def parse_collation(text: str) -> Found:
    """Return the collation of a text. Raises NotOneText unless the text is one collation's name."""
    reader = Reader(text)
    reader.found.collations.append(reader.qualified())
    reader.end()
    return reader.found


@lru_cache(4096)
def parse_check(text: str) -> Found:
    """Return what a check calls and names. Raises NotOneText unless the text is `CHECK (…)`, maybe NOT VALID."""
    reader = Reader(text)
    reader.need("check", "(")
    expression(reader)
    reader.need(")")
    reader.take("not", "valid")
    reader.end()
    return reader.found


@lru_cache(4096)
def parse_key(text: str) -> Found:
    """Return what a partition key calls and names. Raises NotOneText unless the text is one, such as `RANGE (day)`."""
    reader = Reader(text)
    if not any(reader.take(strategy) for strategy in ("range", "list", "hash")):
        raise NotOneText(f"has {reader.shown()} where RANGE, LIST or HASH must come")
    reader.need("(")
    while True:
        expression(reader)
        if reader.is_name():  # an operator class that is not the type's default
            reader.found.types.append(reader.qualified())
        if not reader.take(","):
            break
    reader.need(")")
    reader.end()
    return reader.found


@lru_cache(4096)
def parse_bound(text: str) -> Found:
    """Return what a partition's bound names. Raises NotOneText unless the text is `FOR VALUES …` or `DEFAULT`."""
    reader = Reader(text)
    if reader.take("default"):
        reader.end()
        return reader.found
    reader.need("for", "values")
    if reader.take("in"):
        _constants(reader)
    elif reader.take("with", "(", "modulus"):
        reader.number()
        reader.need(",", "remainder")
        reader.number()
        reader.need(")")
    else:
        reader.need("from")
        _constants(reader)
        reader.need("to")
        _constants(reader)
    reader.end()
    return reader.found


def _constants(reader: Reader) -> None:
    reader.need("(")
    while True:
        if reader.word.kind is Kind.OPERATOR and reader.word.text in ("-", "+"):
            reader.next()
        is_one = reader.word.kind in (Kind.STRING, Kind.NUMBER) or any(map(reader.has, _CONSTANTS))
        if not is_one:
            raise NotOneText(f"has {reader.shown()} where a constant must come")
        reader.next()
        if reader.take("::"):
            reader.found.literal_types.append(reader.type())
        if not reader.take(","):
            break
    reader.need(")")


_CONSTANTS = ("null", "true", "false", "minvalue", "maxvalue")


@lru_cache(4096)
def is_closed(text: str) -> bool:
    """Does an expression stand by itself behind the word DEFAULT? It is one operand then, perhaps with casts."""
    reader = Reader(text)
    operand(reader)
    return reader.word is END and not (reader.found.collations or reader.found.has_tests)
