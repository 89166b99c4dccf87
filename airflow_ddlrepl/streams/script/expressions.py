"""This module parses statements of PL/SQL by statement.lark, and computes what is known of their values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from airflow_ddlrepl.sql import lexical

_GRAMMAR = Path(__file__).with_name("statement.lark")
_ASSIGNS = re.compile(rf"\s*(?::?[\w$#]+|{lexical.PLAIN_NAME})\s*:=")
_CONVERT = re.compile(r"(?:SYS\.)?ANYDATA\.CONVERT\w+")
AMPERSAND = "\ue000"
"""What stands for an ampersand that asks for nothing, behind SET DEFINE OFF."""
_CONSTANTS = {"TRUE": True, "FALSE": False, "NULL": None}


@dataclass(frozen=True, slots=True)
class Unknown:
    """An unknown value is one that only running the script would tell. why: what it depends on."""

    why: str


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable is what a parameter gives a value back in; its value may be known already."""

    name: str
    value: Any


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call: the parameter's name in lower case, empty where it is positional. at: where it stands."""

    parameter: str
    value: Any
    variable: str
    at: int


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a procedure. name: with its packages, in upper case. at: where it begins in the text."""

    name: str
    arguments: tuple[Argument, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Assignment:
    """An assignment of a value to a variable."""

    variable: str
    value: Any


class Unreadable(ValueError):
    """This error says that a statement can't be parsed. at: the character of its text."""

    def __init__(self, at: int, text: str) -> None:
        super().__init__(at, text)
        self.at = at
        self.text = text


@lru_cache(1)
def _parser() -> Lark:
    start = ["call", "assignment", "expression"]
    text = _GRAMMAR.read_text(encoding="utf-8")
    for name in ("TEXT", "OWN_QUOTES", "PLAIN_NAME"):
        text = text.replace(f"@{name}@", getattr(lexical, name))
    return Lark(text, parser="lalr", start=start, maybe_placeholders=False, propagate_positions=True)


def read_statement(text: str, variables: Mapping[str, Any]) -> Call | Assignment:
    """Return the call or the assignment that a statement is. Raises Unreadable.

    variables: their values, by name in upper case.
    """
    is_assignment = _ASSIGNS.match(text) is not None
    tree = _parsed(text, "assignment" if is_assignment else "call")
    name = _name(tree.children[0])
    if is_assignment:
        return Assignment(name, value(tree.children[1], variables))
    arguments = [
        _argument(one, variables)
        for part in tree.children[1:]
        if isinstance(part, Tree)
        for one in part.children
        if isinstance(one, Tree)
    ]
    return Call(name, tuple(arguments), tree.meta.start_pos)


def read_function(text: str, variables: Mapping[str, Any]) -> Call | None:
    """Return the call of a function that an assignment's value is; None for another value."""
    setting = text.find(":=") + 2
    try:
        found = read_statement(" " * setting + text[setting:], variables)
    except Unreadable:
        return None
    return found if isinstance(found, Call) else None


def read_value(text: str, variables: Mapping[str, Any]) -> Any:
    """Return the value of an expression. Raises Unreadable."""
    return value(_parsed(text, "expression"), variables)


def _parsed(text: str, start: str) -> Tree[Token]:
    try:
        return _parser().parse(text, start=start)
    except UnexpectedInput as error:
        at = error.pos_in_stream if error.pos_in_stream is not None and error.pos_in_stream >= 0 else len(text)
        word = re.match(r"\w+|\S", text[at:])
        raise Unreadable(at, f"{word[0]} can't stand here" if word else "it ends here") from None


def _argument(tree: Tree[Token], variables: Mapping[str, Any]) -> Argument:
    parameter = ""
    expression = tree.children[-1]
    first = tree.children[0]
    if isinstance(first, Token) and first.type == "PARAMETER":
        parameter = first.lower()
    variable = ""
    if isinstance(expression, Tree) and expression.data == "reference" and len(expression.children) == 1:
        variable = _name(expression.children[0])
        variable = "" if variable in _CONSTANTS else variable
    return Argument(parameter, value(expression, variables), variable, tree.meta.start_pos)


def _name(tree: Any) -> str:
    parts = [str(one) if one.startswith('"') else one.upper() for one in tree.children]
    return ".".join(parts).replace(".@", "@")


def value(tree: Any, variables: Mapping[str, Any]) -> Any:
    """Return the value of a parsed expression: a text, a number, TRUE, FALSE, NULL, or an Unknown."""
    if tree.data == "text":
        return _text(str(tree.children[0]))
    if tree.data == "number":
        number = Decimal(str(tree.children[0]))
        return int(number) if number == number.to_integral_value() else float(number)
    if tree.data == "typed":
        return Unknown(f"{tree.children[0]}, which SQL*Plus asks for")
    if tree.data == "reference":
        return _reference(tree, variables)
    found, *rest = tree.children
    result = value(found, variables)
    for sign, operand in zip(rest[::2], rest[1::2], strict=True):
        result = _joined(str(sign), result, value(operand, variables))
    return result


def _joined(sign: str, left: Any, right: Any) -> Any:
    for one in (left, right):
        if isinstance(one, Unknown):
            return one
    if sign == "||":
        return f"{'' if left is None else left}{'' if right is None else right}"
    return Unknown(f"a computation with {sign}")


def _reference(tree: Any, variables: Mapping[str, Any]) -> Any:
    name = _name(tree.children[0])
    if len(tree.children) == 1:
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        return variables[name] if name in variables else Unknown(f"{name}, which is not set in the block")
    arguments = [value(one.children[-1], variables) for one in tree.children[1].children if isinstance(one, Tree)]
    if len(arguments) == 1 and _CONVERT.fullmatch(name):
        return arguments[0]
    if name == "CHR" and len(arguments) == 1 and isinstance(arguments[0], int):
        return chr(arguments[0])
    return Unknown(f"{name}(…), which is computed when the script runs")


def _text(written: str) -> str | Unknown | None:
    """Return a text in quotes; NULL for an empty one, as in Oracle."""
    body = written[1:] if written[:1] in "nN" else written
    text = body[3:-2] if body[:1] in "qQ" else body[1:-1].replace("''", "'")
    asked = re.search(r"&&?\w+", text)
    return Unknown(f"{asked[0]}, which SQL*Plus asks for") if asked else text.replace(AMPERSAND, "&") or None


def substituted(text: str, defined: Mapping[str, str] | None) -> str:
    """Return a unit's text with `&name` replaced by what DEFINE has set; unknown ones stay.

    defined: None behind SET DEFINE OFF.
    """
    if defined is None:
        return text.replace("&", AMPERSAND)

    def put(found: re.Match[str]) -> str:
        return defined.get(found[1].upper(), found[0])

    return re.sub(r"&&?(\w+)\.?", put, text)
