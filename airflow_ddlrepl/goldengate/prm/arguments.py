"""Parse the arguments of a parameter by the grammar in arguments.lark, and say in words what is wrong with them."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput, UnexpectedToken

from airflow_ddlrepl.goldengate.prm.problems import Problem
from airflow_ddlrepl.goldengate.prm.statements import BEGINNING, Statement
from airflow_ddlrepl.goldengate.prm.vocabulary import ddl
from airflow_ddlrepl.goldengate.prm.vocabulary.map_options import MAP_OPTIONS
from airflow_ddlrepl.notation.suggestion import nearest
from airflow_ddlrepl.sql import lexical

Parsed = Tree[Token]
RULES = {"TABLEEXCLUDE": "exclude", "MAPEXCLUDE": "exclude", "SCHEMAEXCLUDE": "exclude"}
_GRAMMAR = Path(__file__).with_name("arguments.lark")
_STARTS = ["ddl", "ddlsubst", "ddlerror", "ddloptions", "table", "map", "exclude"]
_WANTED = {
    "NAME": "a name", "STRING": "a text in quotes", "NUMBER": "a number", "ACTION": "ABEND, IGNORE or DISCARD",
    "OPTION": "an option", "PLAIN_OPTION": "an option", "VALUE_OPTION": "an option", "INCLUDE": "INCLUDE",
    "EXCLUDE": "EXCLUDE", "SCOPE": "MAPPED, UNMAPPED, OTHER or ALL", "VALUED": "OPTYPE, OBJTYPE, OBJNAME, INSTR …",
    "WHEN": "BEFORE or AFTER", "TARGET": "TARGET", "WITH": "WITH", "LPAR": "(", "RPAR": ")", "COMMA": "a comma",
    "DEFAULT": "DEFAULT",
}  # fmt: skip
_KNOWN = {
    "ddloptions": [*ddl.DDL_OPTIONS, *ddl.DDL_OPTIONS_WITH_VALUES, "ADDTRANDATA", "REMOVECOMMENTS", "MAPSESSIONSCHEMA"],
    "table": [*MAP_OPTIONS, "TARGET"],
    "map": [*MAP_OPTIONS, "TARGET"],
    "ddl": [*ddl.CLAUSE_WORDS, "INCLUDE", "EXCLUDE"],
    "ddlsubst": [*ddl.CLAUSE_WORDS, "INCLUDE", "EXCLUDE", "WITH"],
    "ddlerror": sorted(ddl.CONTINUING | {"DEFAULT"}),
}
_TRAPS = (
    (r"\bOPTYPE\s+\w+\s*$", r",", "a list of operations stands in parentheses: OPTYPE (CREATE, ALTER)"),
    (r"\bOBJTYPE\s+\S+\s*$", r",", "a list of types stands in parentheses: OBJTYPE (TABLE, INDEX)"),
    (r"\bOBJTYPE\s+\w+\s*$", r"\w", "a type of several words stands in quotes: OBJTYPE 'MATERIALIZED VIEW'"),
)
"""What stands before and at the place of an error, and what its usual reason is."""


_PLAIN = r"[\w$#@.*?]++(?=[\s,]|\Z)"
_GROUP = rf"\((?:[^()'\"&;]|{lexical.PLAIN_TEXT})*+\)"
_GROUPS = rf"\((?:[^()'\"&;]|{lexical.PLAIN_TEXT}|{_GROUP})*+\)"
_BEGINNING = {
    "table": re.compile(rf"\s*+({_PLAIN})"),
    "map": re.compile(rf"\s*+({_PLAIN})\s*+,?+\s*+TARGET\s++({_PLAIN})", re.IGNORECASE),
}
_OPTION = re.compile(rf"(?:\s*+,\s*+|\s++)(\w++)(?:\s*+{_GROUPS}|(?=\s*+(?:,|\Z)))")
_END = re.compile(r"\s*+\Z")


def parse(statement: Statement) -> Parsed:
    """Return the parsed arguments of a parameter; its tokens count characters from the statement's `start`.

    Raises Problem at the first thing that the parameter can't have there.
    """
    rule = RULES.get(statement.name, statement.name.lower())
    return parse_ordinary(statement.text, rule) or parse_by_grammar(statement, rule)


def parse_by_grammar(statement: Statement, rule: str) -> Parsed:
    """Return the parsed arguments of a parameter, whatever stands in them. Raises Problem as `parse` does."""
    try:
        parsed = _parser().parse(statement.text, start=rule)
    except UnexpectedInput as error:
        at = error.pos_in_stream if error.pos_in_stream is not None else len(statement.text)
        if isinstance(error, UnexpectedToken) and error.token.type == "$END":
            at = len(statement.text.rstrip())
        raise Problem(statement.start + at, _explained(statement, rule, at, error)) from None
    for option in parsed.find_pred(lambda part: part.data in ("option", "plain_option")):
        for value in option.children[1:]:
            if isinstance(value, Token) and value.upper() in BEGINNING:
                why = f"{value} begins another parameter: put it on a line of its own"
                raise Problem(statement.start + (value.start_pos or 0), why)
    return parsed


def parse_ordinary(text: str, rule: str) -> Parsed | None:
    """Return the parsed arguments of a TABLE or MAP as most are; None: the grammar has to read them.

    What stands in the parentheses of an option is left out: it is read from the text.
    """
    beginning = _BEGINNING.get(rule)
    match = beginning.match(text) if beginning is not None else None
    if match is None:
        return None
    names = [Tree("name", [_token("NAME", match, group)]) for group in range(1, match.re.groups + 1)]
    found: list[Parsed | Token] = [names[0], *(Tree("target", [one]) for one in names[1:])]
    at = match.end()
    while (match := _OPTION.match(text, at)) is not None:
        if match[1].upper() not in MAP_OPTIONS:
            return None
        found.append(Tree("option", [_token("OPTION", match, 1)]))
        at = match.end()
    return Tree(rule, found) if _END.match(text, at) else None


def _token(kind: str, match: re.Match[str], group: int) -> Token:
    return Token(kind, match[group], start_pos=match.start(group), end_pos=match.end(group))


@lru_cache(1)
def _parser() -> Lark:
    text = _GRAMMAR.read_text(encoding="utf-8")
    words = {name: getattr(ddl, name) for name in ("SCOPES", "CLAUSE_WORDS", "DDL_OPTIONS", "DDL_OPTIONS_WITH_VALUES")}
    for name, known in (words | {"MAP_OPTIONS": MAP_OPTIONS}).items():
        text = text.replace(f"@{name}@", "|".join(sorted(known, key=len, reverse=True)))
    text = text.replace("@TEXT@", lexical.TEXT).replace("@NAME_IN_LINE@", lexical.NAME_IN_LINE)
    return Lark(text, parser="lalr", start=_STARTS, maybe_placeholders=False)


def _explained(statement: Statement, rule: str, at: int, error: UnexpectedInput) -> str:
    before, behind = statement.text[:at], statement.text[at:]
    if rule == "exclude":
        return f"{statement.name} has one name: repeat the parameter for another"
    if rule.startswith("ddl"):
        for pattern, sign, why in _TRAPS:
            if re.search(pattern, before, re.IGNORECASE) and re.match(sign, behind):
                return why
    word = re.match(r"[^\s,;()]+|.", behind)
    accepted = next((found for name in ("accepts", "expected", "allowed") if (found := getattr(error, name, None))), ())
    wanted = [text for name, text in _WANTED.items() if name in accepted]
    expected = f"it expects {' or '.join(dict.fromkeys(wanted))}" if wanted else "it expects nothing more"
    if word is None:
        return f"{statement.name} ends here: {expected}"
    guess = nearest(word[0].upper(), _KNOWN[rule])
    shown = "this" if re.search(r"PASSWORD", before, re.IGNORECASE) else word[0]
    hint = guess if guess and f" {word[0].upper()}?" not in guess else expected
    return f"{statement.name} can't have {shown} here: {hint}"
