"""This module compiles a SQL script into calls of a channel file, and collects what of the script is not taken."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.notation.import_findings import Fate, Finding
from airflow_ddlrepl.sql import lexical
from airflow_ddlrepl.streams.calls.procedure import Procedure, StreamsType
from airflow_ddlrepl.streams.calls.section import StreamsParameters
from airflow_ddlrepl.streams.condition.kinds import Kind
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.procedures.environment import Environment
from airflow_ddlrepl.streams.procedures.run import run
from airflow_ddlrepl.streams.rules.client import ClientKind
from airflow_ddlrepl.streams.rules.rule import ActionContext
from airflow_ddlrepl.streams.script.blocks import BlockReader, Note, worst_call
from airflow_ddlrepl.streams.script.calls import CallReader, Refused, procedure_name
from airflow_ddlrepl.streams.script.expressions import Call, Unknown, substituted
from airflow_ddlrepl.streams.script.script import Unit, UnitKind, line_ends, line_of, units
from airflow_ddlrepl.streams.script.vocabulary import CALL, LOGGING, PACKAGES, WHY_LOGGING

_DEFINE = re.compile(r"DEF(?:INE)?\s+(\w+)\s*=\s*(?:'([^']*)'|\"([^\"]*)\"|(\S+))", re.IGNORECASE)
_DEFINE_OFF = re.compile(r"SET\s+(?:DEF(?:INE)?|SCAN)\s+OFF\b", re.IGNORECASE)
_CONNECT = re.compile(r"CONN(?:E|EC|ECT)?\s+(\S*)", re.IGNORECASE)
_REMOVES = re.compile(r"DROP_\w+|REMOVE_STREAMS_CONFIGURATION")
_DATABASES = ("source_database", "source_database_name")


@dataclass(slots=True)
class Compiler:
    """A compiler takes the units of one script; `parameters` and `findings` are what comes out."""

    script: str
    calls: list[tuple[int, Procedure]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    types: dict[str, dict[str, str]] = field(default_factory=dict)
    defined: dict[str, str] | None = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)
    sources: list[tuple[int, str, str]] = field(default_factory=list)
    scheduled: list[int] = field(default_factory=list)
    databases: list[str] = field(default_factory=list)
    reader: CallReader = field(default_factory=CallReader)
    environment: Environment = field(default_factory=Environment)

    def compile(self) -> None:
        """Go through the whole script."""
        for unit in units(self.script):
            match unit.kind:
                case UnitKind.BLOCK:
                    self._block(unit)
                case UnitKind.STORED:
                    self._stored(unit)
                case UnitKind.SQL:
                    self._statement(unit)
                case UnitKind.SQLPLUS:
                    self._line(unit)
                case _ if CALL.search(unit.text):
                    why = "it stands outside of a block: put BEGIN before it, and END; behind it"
                    self._find(unit.at, Fate.REFUSED, _short(unit.text, 1), why)
                case _:
                    why = "it is neither SQL nor a line of SQL*Plus: it is not read"
                    self._find(unit.at, Fate.ATTENTION, _short(unit.text, 1), why)
        self._check_sources()
        self._check_rules()
        if not any(kind is ClientKind.PROPAGATION for kind, _ in self.environment.clients):
            why = "no call makes a propagation, so no message is passed on: write ADD_…_PROPAGATION_RULES"
            for at in self.scheduled:
                self._find(at, Fate.REFUSED, "SCHEDULE_PROPAGATION", why)

    def parameters(self) -> StreamsParameters:
        """Return the calls that are taken, with the types of messages that they name."""
        used = {
            self.environment.name(name) for _, one in self.calls for name in [getattr(one, "message_type", "")] if name
        }
        types = {name: fields for name, fields in self.types.items() if self.environment.name(name) in used}
        return StreamsParameters(message_types=types, calls=tuple(one for _, one in self.calls))  # type: ignore[arg-type]

    def _find(self, at: int, fate: Fate, what: str, why: str) -> None:
        self.findings.append(Finding(line_of(self.script, at), fate, what, why))

    def _block(self, unit: Unit) -> None:
        if unit.problem:
            self._find(unit.at, Fate.REFUSED, _short(unit.text, 1), f"{unit.problem}: nothing of it is read")
            return
        reader = BlockReader(substituted(unit.text, self.defined), unit.at, self.variables)
        for found in reader.calls():
            at = unit.at + _same_line(reader.text, found.at - unit.at, unit.text)
            if isinstance(found, Note):
                self._find(at, found.fate, found.what, found.why)
            else:
                self._call(found, reader.variables, at)
        self.variables = {name: value for name, value in reader.variables.items() if name.startswith(":")}

    def _call(self, call: Call, variables: dict[str, Any], at: int) -> None:
        name = procedure_name(call.name).rpartition(".")[2]
        self._note_sources(call, name, at)
        self.reader.notes.clear()
        try:
            found = self.reader.read(call, variables)
            warnings = len(self.environment.warnings)
            further = self._run(found) if found is not None else []
        except Refused as refused:
            self._find(at, refused.fate, name, refused.why)
            self._forget(call, variables, name)
            return
        except RuleError as error:
            self._find(at, Fate.REFUSED, name, f"{error.code}: {error.message}")
            self._forget(call, variables, name)
            return
        if found is None and self.calls and _REMOVES.fullmatch(name):
            why = "what the calls before it made stays in the result: take both out of the script"
            self._find(at, Fate.REFUSED, name, why)
            return
        if name == "SCHEDULE_PROPAGATION":
            self.scheduled.append(at)
        for what, entry in self.reader.notes:
            self._find(at, entry.fate or Fate.SAFE, what, entry.why)
        if found is None:
            return
        self.calls += [(at, one) for one in (found, *further)]
        for text in self.environment.warnings[warnings:]:
            self._find(at, Fate.ATTENTION, name, text)
        if getattr(found, "streams_type", None) == StreamsType.APPLY and getattr(found, "include_ddl", False):
            self._find(at, Fate.ATTENTION, name, CODE)
        if any(one.name == "set_rule_transform_function" for one in (found, *further)):
            why = "the function's body is PL/SQL: write it in Python, and name it as module.function"
            self._find(at, Fate.ATTENTION, name, why)

    def _run(self, call: Procedure) -> list[Procedure]:
        """Make a call, and those that set what its action context says; return these."""
        rule = self.environment.rules.get(self.environment.parts(getattr(call, "rule_name", None) or "x")[-1])
        further = self.reader.further(call, rule.action if rule is not None else ActionContext())
        for one in (call, *further):
            run(one, self.environment)
        return further

    def _forget(self, call: Call, variables: dict[str, Any], name: str) -> None:
        """Note that the names that a refused call would give back are not known, nor what an unknown one may set."""
        is_known = procedure_name(call.name).partition(".")[0] in PACKAGES
        for one in call.arguments:
            if one.variable and one.parameter.endswith("rule_name"):
                variables[one.variable] = Unknown(f"{one.variable}, the name of a rule of {name}, which is refused")
            elif one.variable and not is_known:
                variables[one.variable] = Unknown(f"{one.variable}, which {name} may set")

    def _note_sources(self, call: Call, name: str, at: int) -> None:
        for one in call.arguments:
            if one.parameter in _DATABASES and isinstance(one.value, str):
                self.sources.append((at, name, one.value.upper()))
            if one.parameter == "destination_queue_name" and isinstance(one.value, str) and "@" in one.value:
                self.sources.append((at, "", one.value.partition("@")[2].upper()))

    def _check_sources(self) -> None:
        """Find source databases that no other call names: no change of such a name may ever arrive."""
        names = [name for _, _, name in self.sources]
        others = {name for name in names if names.count(name) > 1}
        for at, procedure, name in self.sources:
            if procedure and name not in others and len(names) > 1:
                why = f"no other call names the source database {name}: are changes of it there at all?"
                self._find(at, Fate.ATTENTION, procedure, why)

    def _check_rules(self) -> None:
        """Leave out capture processes that no call gives rules: they would take everything."""
        for (kind, name), client in self.environment.clients.items():
            if kind is ClientKind.CAPTURE and client.positive is client.negative is None:
                own = [(at, one) for at, one in self.calls if self._names_capture(one, name)]
                self.calls = [one for one in self.calls if one not in own]
                why = f"no call gives {client.words} rules: it would take every change; ADD_GLOBAL_RULES says so"
                self._find(own[0][0] if own else 0, Fate.REFUSED, "CREATE_CAPTURE", why)

    def _names_capture(self, call: Procedure, name: str) -> bool:
        named = getattr(call, "capture_name", None)
        return named is not None and self.environment.name(named) == name

    def _stored(self, unit: Unit) -> None:
        type = message_type(unit.text)
        if type is not None:
            self.types[type[0]] = type[1]
            self.environment.message_types[self.environment.name(type[0])] = {
                self.environment.case.one(name): Kind(kind) for name, kind in type[1].items()
            }
            return
        worst = worst_call(unit.text)
        if worst is not None and worst.fate is Fate.REFUSED:
            why = "what it calls depends on its callers: write the calls themselves"
            self._find(unit.at, Fate.REFUSED, _short(unit.text), why)
            return
        self._find(unit.at, Fate.ATTENTION, _short(unit.text), "programs of PL/SQL are not read: write them in Python")

    def _statement(self, unit: Unit) -> None:
        if LOGGING.search(unit.text):
            self._find(unit.at, Fate.SAFE, "SUPPLEMENTAL LOG", WHY_LOGGING)
        elif (entry := worst_call(unit.text)) is not None and entry.fate is not Fate.SAFE:
            why = "what a statement of SQL calls is not read: write the call in a block"
            self._find(unit.at, Fate.REFUSED, _short(unit.text, 1), why)

    def _line(self, unit: Unit) -> None:
        if _DEFINE_OFF.match(unit.text):
            self.defined = None
        found = _DEFINE.match(unit.text)
        if found is not None and self.defined is not None:
            self.defined[found[1].upper()] = found[2] or found[3] or found[4] or ""
        connected = _CONNECT.match(unit.text)
        if connected is not None and (database := connected[1].rpartition("@")[2].upper()) not in self.databases:
            self.databases.append(database)
            if len(self.databases) > 1 and self.calls:
                why = "another database begins here, and a channel has one source: import a script for each direction"
                self._find(unit.at, Fate.ATTENTION, "CONNECT", why)
        if unit.text.startswith("@") or unit.text.upper().startswith(("START ", "STA ")):
            why = "the script that it runs is not read: put its text here, or import it, too, and take the line out"
            self._find(unit.at, Fate.REFUSED, _short(unit.text), why)
        elif unit.text.upper().startswith("HO") and CALL.search(unit.text):
            self._find(unit.at, Fate.REFUSED, _short(unit.text, 1), "it is not read: write the call in a block")


CODE = (
    "functions, triggers, views, grants and other statements with code or rights are left out at the target: name the"
    " kinds that you want in `code` of its entry in `targets`"
)


def _same_line(text: str, at: int, original: str) -> int:
    """Return where the line of a character of a text begins in the text with the names before DEFINE's values."""
    lines = line_of(text, at) - 1
    return line_ends(original)[lines - 1] + 1 if lines else 0


def _short(text: str, words: int = 6) -> str:
    """Return the first words of a text; one alone where a password may follow."""
    found = text.split()
    return f"{' '.join(found[:words])[:60]}{' …' if len(found) > words else ''}"


def compile_script(script: str) -> Compiler:
    """Return what becomes of a script."""
    found = Compiler(without_prompts(script), environment=Environment(NameCase.UPPER))
    found.compile()
    return found


_PROMPT = re.compile(r"[ \t]*SQL>[ \t]?", re.IGNORECASE)
_NUMBER = re.compile(r"[ \t]*(\d+)(?=[ \t]|$)")


def without_prompts(script: str) -> str:
    """Return the script with blanks in place of `SQL>`, and of the numbers of the lines that follow it."""
    lines, expected = [], 0
    for line in script.split("\n"):
        prompt = _PROMPT.match(line)
        number = _NUMBER.match(line) if expected else None
        if prompt:
            line, expected = " " * prompt.end() + line[prompt.end() :], 2
        elif number and int(number[1]) == expected:
            line, expected = " " * number.end() + line[number.end() :], expected + 1
        else:
            expected = 0
        lines.append(line)
    return "\n".join(lines)


_TYPE = re.compile(
    r'\s*CREATE\s+(?:OR\s+REPLACE\s+)?TYPE\s+("?[\w$#".]+"?)\s+(?:AUTHID\s+\w+\s+)?(?:AS|IS)\s+OBJECT\s*\((.*)\)',
    re.IGNORECASE | re.DOTALL,
)
_FIELD = re.compile(rf"\s*({lexical.PLAIN_NAME}|[\w$#]+)\s+([A-Za-z]\w*)")
_KINDS = {
    **dict.fromkeys(("VARCHAR2", "VARCHAR", "CHAR", "NVARCHAR2", "NCHAR", "CLOB", "NCLOB"), "text"),
    **dict.fromkeys(("NUMBER", "INTEGER", "INT", "FLOAT", "BINARY_FLOAT", "BINARY_DOUBLE", "DECIMAL"), "number"),
    **dict.fromkeys(("DATE", "TIMESTAMP"), "date"),
    **dict.fromkeys(("RAW", "BLOB"), "raw"),
}


def message_type(text: str) -> tuple[str, dict[str, str]] | None:
    """Return the name of a type and its fields with their kinds; None for another statement, and other types."""
    found = _TYPE.match(text)
    if found is None:
        return None
    fields = {}
    for part in re.split(r",(?![^(]*\))", found[2]):
        field = _FIELD.match(part)
        kind = _KINDS.get(field[2].upper()) if field else None
        if field is None or kind is None:
            return None
        fields[field[1]] = kind
    return found[1], fields
