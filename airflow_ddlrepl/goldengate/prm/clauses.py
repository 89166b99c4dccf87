"""Read INCLUDE and EXCLUDE clauses, DDLSUBST and DDLERROR from their parsed arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from lark import Token, Tree
from pydantic import ValidationError

from airflow_ddlrepl.goldengate.parameters.clauses import Clause, Substitution
from airflow_ddlrepl.goldengate.parameters.replicat import DEFAULT, ErrorRule
from airflow_ddlrepl.goldengate.prm.arguments import Parsed
from airflow_ddlrepl.goldengate.prm.names import Catalogs
from airflow_ddlrepl.goldengate.prm.problems import Problem
from airflow_ddlrepl.goldengate.prm.statements import Statement
from airflow_ddlrepl.goldengate.prm.vocabulary.ddl import OBJECT_TYPES, OPERATIONS
from airflow_ddlrepl.goldengate.prm.vocabulary.error_numbers import sqlstate
from airflow_ddlrepl.notation.import_findings import Fate, message
from airflow_ddlrepl.notation.suggestion import suggestion

Find = Callable[[int, Fate, str, str], None]
"""What takes a finding: its character of the text, fate, what it is about and why."""
Clauses = dict[str, list[Clause]]
Values = dict[str, list[Any]]
"""The values that the options of a clause may have, of which one has to hold."""
_KEYS = {
    "OPTYPE": "optype", "OBJTYPE": "objtype", "OBJNAME": "objname", "INSTR": "instr",
    "INSTRCOMMENTS": "instr_comments", "INSTRWORDS": "instr_words", "INSTRCOMMENTSWORDS": "instr_comments_words",
}  # fmt: skip


_LISTED = frozenset(("OPTYPE", "OBJTYPE", "OBJNAME"))


@dataclass(frozen=True, slots=True)
class Context:
    """The context of a clause is what takes findings, and the catalogs of the names of one side: source or target."""

    find: Find
    catalogs: Catalogs
    side: str


def unquoted(token: Token | str) -> str:
    """Return a text without the quotes around it; two quotes in it are one, and where a line goes on is a blank."""
    token = re.sub(r"\s*\n\s*", " ", token)
    quote = token[:1]
    if len(token) > 1 and quote in ("'", '"') and token[-1] == quote:
        return str(token[1:-1]).replace(quote * 2, quote)
    return str(token)


def read_clauses(statement: Statement, parts: Iterable[Parsed | Token], context: Context) -> Clauses:
    """Return the clauses among the parts of a parameter's arguments, as `include` and `exclude`."""
    clauses: Clauses = {"include": [], "exclude": []}
    for marker, options in _grouped(parts):
        at = statement.start + (marker.start_pos or 0)
        if not options:
            raise Problem(at, f"{marker.upper()} says nothing: write {marker.upper()} ALL, or an option")
        fields: Values = {}
        for option in options:
            _read_option(statement, option, fields, context)
        if "stay_metadata" in fields and marker.upper() == "INCLUDE":
            raise Problem(at, "STAYMETADATA is an option of EXCLUDE")
        try:
            for values in product(*fields.values()):
                clauses[marker.lower()].append(Clause.model_validate(dict(zip(fields, values, strict=True))))
        except ValidationError as error:
            raise Problem(at, message(error)) from None
    return clauses


def _grouped(parts: Iterable[Parsed | Token]) -> Iterator[tuple[Token, list[Parsed | Token]]]:
    """Yield each INCLUDE or EXCLUDE with its options."""
    marker: Token | None = None
    options: list[Parsed | Token] = []
    for part in parts:
        if isinstance(part, Token) and part.type in ("INCLUDE", "EXCLUDE"):
            if marker is not None:
                yield marker, options
            marker, options = part, []
        elif marker is not None:
            options.append(part)
    if marker is not None:
        yield marker, options


def _read_option(statement: Statement, option: Parsed | Token, fields: Values, context: Context) -> None:
    """Read one option of a clause into the clause's fields."""
    first = option if isinstance(option, Token) else next(iter(option.scan_values(lambda _: True)), None)
    at = statement.start + (first.start_pos or 0 if first is not None else 0)
    if isinstance(option, Tree) and option.data == "event":
        raise Problem(at, "EVENTACTIONS in a clause has no counterpart: take it out, and decide what happens then")
    if isinstance(option, Token):
        if option.type == "STAYMETADATA":
            fields["stay_metadata"] = [True]
        elif option.type == "SCOPE":
            _set(fields, "scope", [option.upper()], at, "a scope")
        else:
            context.find(at, Fate.SAFE, option.upper(), "every name is resolved with its schema")
        return
    name, value = option.children
    keyword = str(name).upper()
    written = [str(one) for one in value.children] if isinstance(value, Tree) else [str(value)]
    if len(written) > 1 and keyword not in _LISTED:
        raise Problem(at, f"{keyword} has one text, and no list: write an INCLUDE for each")
    if keyword == "SOURCECATALOG":
        told = context.catalogs.take(unquoted(written[0]), at, f"{statement.name} {keyword}", "source")
        context.find(at, Fate.ATTENTION, keyword, told)
        return
    _set(fields, _KEYS[keyword], [_value(keyword, one, at, context) for one in written], at, keyword)


def _set(fields: Values, key: str, value: list[Any], at: int, what: str) -> None:
    if key in fields:
        raise Problem(at, f"the clause has {what} twice, and all its options have to hold: write an INCLUDE for each")
    fields[key] = value


def _value(keyword: str, written: str, at: int, context: Context) -> Any:
    """Return the value of an option as a clause has it."""
    text = unquoted(written)
    if keyword == "OBJNAME":
        name, told = context.catalogs.read(written, at, "OBJNAME", context.side)
        if told:
            context.find(at, Fate.ATTENTION, f"OBJNAME {written}", told)
        return name.pattern
    words = " ".join(text.upper().split())
    if keyword == "OPTYPE" and words not in OPERATIONS:
        is_list = bool(re.search(r"[\s,|]", words)) and words.split()[0].strip(",|") in OPERATIONS
        why = "has one operation in quotes: a list stands in parentheses, OPTYPE (CREATE, ALTER)"
        raise Problem(at, f"OPTYPE {why if is_list else f'{words}: {suggestion(words, sorted(OPERATIONS))}'}")
    if keyword == "OBJTYPE" and words not in OBJECT_TYPES:
        context.find(
            at, Fate.ATTENTION, f"OBJTYPE {words}", f"no statement is about such a type; {_nearest_type(words)}"
        )
    if keyword in ("INSTRWORDS", "INSTRCOMMENTSWORDS"):
        return tuple(quoted or word for quoted, word in re.findall(r'"([^"]+)"|(\S+)', text))
    return text


def _nearest_type(words: str) -> str:
    found = suggestion(words, sorted(OBJECT_TYPES))
    return found if found.startswith("did you") else "the clause is never true"


def read_substitution(statement: Statement, parsed: Parsed, context: Context) -> Substitution:
    """Return the substitution of a DDLSUBST."""
    search, replacement, *clauses = parsed.children
    texts = [unquoted(str(one.children[0])) for one in (search, replacement) if isinstance(one, Tree)]
    try:
        return Substitution(search=texts[0], replacement=texts[1], **_tuples(read_clauses(statement, clauses, context)))
    except ValidationError as error:
        raise Problem(statement.at, f"DDLSUBST {message(error)}") from None


def read_error_rules(statement: Statement, parsed: Parsed, context: Context) -> Iterator[ErrorRule]:
    """Yield the rules of a DDLERROR, one for each code."""
    codes, find = [one.children[0] for one in parsed.find_data("code")], context.find
    if any(True for _ in parsed.find_data("skip")):
        find(statement.at, Fate.ATTENTION, "DDLERROR", "nothing is skipped at a start; `ddlrepl errors` lists failures")
    if not codes:
        return
    actions = [one for one in parsed.children if isinstance(one, Token) and one.type == "ACTION"]
    if len(actions) != 1:
        raise Problem(statement.at, f"DDLERROR has {len(actions) or 'no'} actions: write ABEND, IGNORE or DISCARD")
    for missing in (one for one in parsed.children if isinstance(one, Token) and one.type == "MISSING"):
        why = "rows of tables that the target lacks suspend the table (docs/suspended_tables.md)"
        find(statement.start + (missing.start_pos or 0), Fate.ATTENTION, missing.upper(), why)
    clauses = _tuples(read_clauses(statement, parsed.children, context))
    for code in codes:
        yield ErrorRule(
            error=_error(statement, str(code), find),
            action=str(actions[0]),  # type: ignore[arg-type]
            max_retries=_number(parsed, "retries"),
            retry_delay=_number(parsed, "delay"),
            **clauses,
        )


def _error(statement: Statement, code: str, find: Find) -> str:
    """Return the SQLSTATE for an error number of Oracle, or the number where none means the same."""
    if code.upper() == DEFAULT:
        return DEFAULT
    number = abs(int(code.upper().removeprefix("ORA-")))
    state = sqlstate(number)
    if state is None:
        why = "no SQLSTATE means the same: the rule is for no error of PostgreSQL until a SQLSTATE stands there"
        find(statement.at, Fate.ATTENTION, f"DDLERROR {code}", why)
    return state or str(number)


def _number(parsed: Parsed, rule: str) -> int:
    found = [int(str(one.children[0])) for one in parsed.find_data(rule)]
    return found[-1] if found else 0


def _tuples(clauses: Clauses) -> dict[str, Any]:
    return {key: tuple(found) for key, found in clauses.items()}
