"""Compile the parameters of a parameter file into those of an Extract or a Replicat, and list what is not taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from lark import Token, Tree
from pydantic import ValidationError

from airflow_ddlrepl.goldengate.parameters.clauses import Filters
from airflow_ddlrepl.goldengate.parameters.extract import ExtractParameters, TableParameter
from airflow_ddlrepl.goldengate.parameters.mapping import mapped
from airflow_ddlrepl.goldengate.parameters.options import RemoveComments
from airflow_ddlrepl.goldengate.parameters.overlaps import hidden, named_in_full
from airflow_ddlrepl.goldengate.parameters.replicat import MapParameter, ReplicatParameters
from airflow_ddlrepl.goldengate.prm.arguments import Parsed, parse
from airflow_ddlrepl.goldengate.prm.checks import (
    SessionSchema,
    clauses_without_tables,
    session_schemas,
    several_trails,
    truncates,
)
from airflow_ddlrepl.goldengate.prm.clauses import Context, read_clauses, read_error_rules, read_substitution
from airflow_ddlrepl.goldengate.prm.names import Catalogs
from airflow_ddlrepl.goldengate.prm.other_parameters import cause, decided
from airflow_ddlrepl.goldengate.prm.problems import ParameterFinding, Place, Problem, Refused
from airflow_ddlrepl.goldengate.prm.rows import Switches, Values, read_rows
from airflow_ddlrepl.goldengate.prm.source_text import SourceText
from airflow_ddlrepl.goldengate.prm.statements import Statement, split
from airflow_ddlrepl.goldengate.prm.vocabulary.ddl import DDL_OPTIONS, DDL_OPTIONS_WITH_VALUES
from airflow_ddlrepl.goldengate.prm.vocabulary.parameters import PARAMETERS
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.notation.import_findings import Fate, message
from airflow_ddlrepl.notation.name_pattern import split_name_pattern, split_table_pattern
from airflow_ddlrepl.notation.section import Section
from airflow_ddlrepl.notation.suggestion import nearest

_OF_ONE_SIDE = {"TABLE": "EXTRACT", "TABLEEXCLUDE": "EXTRACT", "MAP": "REPLICAT", "MAPEXCLUDE": "REPLICAT"}
Entry = TypeVar("Entry", bound=Section)
MOST_UNKNOWN = 200
"""More unknown parameters than this have other files: nothing like them is looked for."""
_CONTINUES = "look whether the line before goes on here, which an & or a comma at its end says"


@dataclass
class Compiled:
    """A compiled parameter file is the values of its side's parameters, with findings. side: EXTRACT or REPLICAT."""

    side: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    findings: list[ParameterFinding] = field(default_factory=list)
    problems: list[tuple[Place, str]] = field(default_factory=list)

    @cached_property
    def parameters(self) -> ExtractParameters | ReplicatParameters:
        """Return the parameters. Raises pydantic's ValidationError for what is wrong between them."""
        kind = ExtractParameters if self.side == "EXTRACT" else ReplicatParameters
        return kind.model_validate(self.values)


def compile_file(source: SourceText) -> Compiled:
    """Return what a parameter file means here, with everything that is wrong with it."""
    statements, compiled = [], Compiled()
    for one in split(source.text):
        if isinstance(one, Problem):
            compiled.problems.append(one.located(source.locate))
        else:
            statements.append(one)
    sides = [one for one in statements if one.name in ("EXTRACT", "REPLICAT")]
    if len({one.name for one in sides}) != 1:
        what = "both EXTRACT and REPLICAT" if sides else "neither EXTRACT nor REPLICAT"
        at = sides[-1].at if sides else 0
        compiled.problems.append((source.locate(at), f"the file has {what}: it has to be of one process"))
        return compiled
    compiled.side = sides[0].name
    compiler = _Compiler(source, compiled, {one.name for one in statements})
    for statement in statements:
        compiler.read(statement)
    compiler.check(statements, sides[0])
    return compiled


class _Compiler:
    """The compiler reads one parameter after the other into the values of a side's parameters."""

    def __init__(self, source: SourceText, compiled: Compiled, names: set[str]) -> None:
        self._source = source
        self._compiled = compiled
        self._values = compiled.values
        quotes = [one for one in ("NOUSEANSISQLQUOTES", "USEANSISQLQUOTES") if one in names]
        self._places: list[tuple[int, str]] = []
        self._guesses: dict[str, str] = {}
        self._catalogs = Catalogs()
        self._session_schemas: list[SessionSchema] = []
        self._switches = Switches(is_ansi=quotes[-1] == "USEANSISQLQUOTES" if quotes else None)
        if "EXCLUDEWILDCARDOBJECTSONLY" in names:
            self._values["exclude_wildcard_objects_only"] = True
        self._readers: dict[str, Callable[[Statement, Parsed], None]] = {
            "DDL": self._read_ddl, "DDLOPTIONS": self._read_ddl_options, "DDLSUBST": self._read_ddl_subst,
            "DDLERROR": self._read_ddl_error, "TABLE": self._read_table, "MAP": self._read_map,
            "TABLEEXCLUDE": self._read_exclude, "MAPEXCLUDE": self._read_exclude, "SCHEMAEXCLUDE": self._read_exclude,
        }  # fmt: skip

    def read(self, statement: Statement) -> None:
        """Read one parameter; what is wrong with it joins the problems."""
        try:
            if statement.name in self._readers:
                self._read_taken(statement)
            else:
                self._read_other(statement)
        except Problem as problem:
            self._compiled.problems.append(problem.located(self._source.locate))
        except Refused as refused:
            self._find(refused.at, Fate.REFUSED, refused.what, refused.why)

    def check(self, statements: list[Statement], side: Statement) -> None:
        """Look at parameters that depend on each other."""
        first = {one.name: one for one in reversed(statements)}
        ddl = first.get("DDL")
        if side.name == "EXTRACT" and ddl is None:
            why = "there is no DDL parameter: no DDL statement is captured; DDL INCLUDE MAPPED captures them"
            self._find(side.at, Fate.ATTENTION, "EXTRACT", why)
        if ddl is not None and not self._values.get("tables", side.name == "REPLICAT"):
            for what, why in clauses_without_tables(self._values.get("ddl")):
                self._find(ddl.at, Fate.ATTENTION, what, why)
        if side.name == "EXTRACT" and ddl is not None and "PASSTHRU" in first:
            why = "DDL in a data pump (PASSTHRU): a pump passes all DDL on, and GoldenGate ends with OGG-00528"
            self._compiled.problems.append((self._source.locate(ddl.at), why))
        if side.name == "REPLICAT" and "SOURCEDEFS" in first and ddl is not None:
            self._find(first["SOURCEDEFS"].at, Fate.ATTENTION, "SOURCEDEFS", "with DDL a Replicat abends on it")
        for number, fate, why in repeated_tables(self._values.get("tables") or self._values.get("maps") or ()):
            self._find(self._places[number][0], fate, self._places[number][1], why)
        for at, found in session_schemas(self._session_schemas, self._values.get("maps", ()), side.name):
            self._find(at, *found)
        for at, found in several_trails(statements):
            self._find(at, *found)
        for found in truncates(first) if side.name == "EXTRACT" and self._values.get("tables") else ():
            self._find(side.at, *found)
        try:
            if not self._compiled.problems:
                _ = self._compiled.parameters
        except ValidationError as error:
            at = (ddl or side).at
            self._compiled.problems.append((self._source.locate(at), message(error)))

    def _find(self, at: int, fate: Fate, what: str, why: str) -> None:
        place = self._source.locate(at)
        self._compiled.findings.append(ParameterFinding(place.line, fate, what, why, place.file, place.column))

    def _read_taken(self, statement: Statement) -> None:
        side = _OF_ONE_SIDE.get(statement.name, self._compiled.side)
        if side != self._compiled.side:
            why = f"belongs into the file of {'an Extract' if side == 'EXTRACT' else 'a Replicat'}"
            self._find(statement.at, Fate.REFUSED, statement.name, why)
            return
        self._readers[statement.name](statement, parse(statement))

    def _read_other(self, statement: Statement) -> None:
        name = statement.name
        if not name:
            self._find(statement.at, Fate.REFUSED, "…", "is no parameter; it is not shown, as a login stands before it")
        elif name not in PARAMETERS:
            self._find(statement.at, Fate.REFUSED, name[:60], cause(name) or _guess(name, self._guesses))
        else:
            if name == "SOURCECATALOG":
                self._read_catalog(statement)
            self._switches.read(name)
            for at, entry, what in decided(statement):
                if entry.fate is not None:
                    self._find(at, entry.fate, what or name, entry.why)

    def _read_catalog(self, statement: Statement) -> None:
        self._catalogs.current = statement.text.strip().strip("'\";")
        told = self._catalogs.take(self._catalogs.current, statement.at, statement.name, "source")
        self._find(statement.at, Fate.ATTENTION, statement.name, told or "it names no catalog: take it out")

    @property
    def _context(self) -> Context:
        return Context(self._find, self._catalogs, "source" if self._compiled.side == "EXTRACT" else "target")

    def _read_ddl(self, statement: Statement, parsed: Parsed) -> None:
        clauses = read_clauses(statement, parsed.children, self._context)
        before = self._values.get("ddl")
        if before is not None:
            why = "there are several DDL parameters, and GoldenGate takes one: their clauses are taken together"
            self._find(statement.at, Fate.ATTENTION, "DDL", why)
            clauses = {key: [*getattr(before, key), *found] for key, found in clauses.items()}
        try:
            self._values["ddl"] = Filters.model_validate(clauses)
        except ValidationError as error:
            raise Problem(statement.at, f"DDL {message(error)}") from None

    def _read_ddl_options(self, statement: Statement, parsed: Parsed) -> None:
        for option in parsed.children:
            if not isinstance(option, Tree):
                continue
            token = next(iter(option.scan_values(lambda _: True)), None)
            at = statement.start + (token.start_pos or 0) if isinstance(token, Token) else statement.at
            if option.data == "remove_comments":
                found = (*self._values.get("remove_comments", ()), RemoveComments(str(token).lower()))
                self._values["remove_comments"] = tuple(dict.fromkeys(found))
            elif option.data == "add_trandata":
                self._read_add_trandata(at)
            elif option.data == "session_schema":
                source, target = (str(one) for one in option.children)
                self._session_schemas.append(SessionSchema(at, source, target))
            else:
                self._read_plain_option(str(token).upper(), at)

    def _read_add_trandata(self, at: int) -> None:
        if self._compiled.side == "EXTRACT":
            self._values["add_trandata"] = True
        why = "new tables log whole rows (REPLICA IDENTITY FULL), and no supplemental log group is made"
        self._find(at, Fate.ATTENTION, "DDLOPTIONS ADDTRANDATA", why)

    def _read_plain_option(self, name: str, at: int) -> None:
        entry = {**DDL_OPTIONS, **DDL_OPTIONS_WITH_VALUES}[name]
        key = "ignore_replicates" if name.endswith("REPLICATES") else "map_derived"
        if entry.fate is not None:
            self._find(at, entry.fate, f"DDLOPTIONS {name}", entry.why)
        elif (key == "map_derived") is (self._compiled.side == "REPLICAT"):
            self._values[key] = name in ("IGNOREREPLICATES", "MAPDERIVED")
        else:
            other = "Extract" if self._compiled.side == "REPLICAT" else "Replicat"
            self._find(at, Fate.ATTENTION, f"DDLOPTIONS {name}", f"is an option of {other}: it does nothing here")

    def _read_ddl_subst(self, statement: Statement, parsed: Parsed) -> None:
        found = read_substitution(statement, parsed, self._context)
        self._values["substitutions"] = (*self._values.get("substitutions", ()), found)

    def _read_ddl_error(self, statement: Statement, parsed: Parsed) -> None:
        if self._compiled.side == "EXTRACT":
            self._find(statement.at, Fate.ATTENTION, "DDLERROR", "is for a Replicat: an Extract runs no DDL")
            return
        rules = read_error_rules(statement, parsed, self._context)
        self._values["errors"] = (*self._values.get("errors", ()), *rules)

    def _read_table(self, statement: Statement, parsed: Parsed) -> None:
        entry = {"table": self._pattern(statement, parsed.children[0]), **self._rows(statement, parsed)}
        self._add("tables", _valid(TableParameter, entry, statement), statement)

    def _read_map(self, statement: Statement, parsed: Parsed) -> None:
        source, target = (one for one in parsed.children[:2] if isinstance(one, Tree))
        names = [self._pattern(statement, source), self._pattern(statement, target.children[0], "target")]
        entry = {"source": names[0], "target": names[1], **self._rows(statement, parsed)}
        found = _valid(MapParameter, entry, statement)
        if any(_is_option(one, "EXCEPTIONSONLY") for one in parsed.children):
            return
        self._add("maps", found, statement)

    def _add(self, key: str, entry: TableParameter | MapParameter, statement: Statement) -> None:
        self._values.setdefault(key, []).append(entry)
        self._places.append((statement.at, statement.name))

    def _read_exclude(self, statement: Statement, parsed: Parsed) -> None:
        pattern = self._pattern(statement, parsed.children[0])
        if statement.name == "SCHEMAEXCLUDE":
            catalog, schema = split_table_pattern(pattern) if len(split_name_pattern(pattern)) > 1 else ("", pattern)
            if told := self._catalogs.take(catalog, statement.at, statement.name, "source"):
                self._find(statement.at, Fate.ATTENTION, statement.name, told)
            pattern = f"{schema}.*"
        self._values.setdefault("exclude", []).append(pattern)

    def _rows(self, statement: Statement, parsed: Parsed) -> Values:
        """Return what the options of a TABLE or MAP say of rows."""
        if statement.name == "TABLE" and any(isinstance(o, Tree) and o.data == "target" for o in parsed.children[1:]):
            why = "names become those of a target by the MAP of a Replicat alone: write it there"
            self._find(statement.at, Fate.REFUSED, "TABLE … TARGET", why)
        return read_rows(statement, parsed, self._switches, self._find)

    def _pattern(self, statement: Statement, name: Parsed | Token, side: str = "source") -> str:
        """Return the pattern of a name, listing what it had that patterns here don't have. side: whose name it is."""
        token = name.children[0] if isinstance(name, Tree) else name
        at = statement.start + (token.start_pos or 0) if isinstance(token, Token) else statement.at
        found, told = self._catalogs.read(str(token), at, statement.name, side)
        if told:
            self._find(at, Fate.ATTENTION, f"{statement.name} {token}", told)
        if found.parts == 1 and statement.name not in ("MAP", "SCHEMAEXCLUDE"):
            raise Refused(at, f"{statement.name} {token}", "has no schema: write that of the tables that are meant")
        return found.pattern


def _valid(kind: type[Entry], entry: Values, statement: Statement) -> Entry:
    try:
        return kind.model_validate(entry)
    except ValidationError as error:
        raise Problem(statement.at, f"{statement.name}: {message(error)}") from None


def _guess(name: str, guesses: dict[str, str]) -> str:
    """Return what an unknown parameter may be. guesses: those that were made, by name."""
    if name not in guesses:
        like = nearest(name, PARAMETERS) if len(guesses) < MOST_UNKNOWN else ""
        guesses[name] = like or f"is no parameter that is known; {_CONTINUES}"
    return guesses[name]


def _is_option(part: Parsed | Token, name: str) -> bool:
    return isinstance(part, Tree) and part.data == "option" and str(part.children[0]).upper() == name


Repeated = tuple[int, Fate, str]
"""The number of a parameter, what becomes of it, and why."""


def repeated_tables(entries: Sequence[TableParameter | MapParameter]) -> Iterator[Repeated]:
    """Yield the parameters that are about tables of which an earlier one says something else."""
    for number, first in hidden(entries):
        why = f"{entries[first].label} before it lists its tables with other options: the first decides about rows"
        yield number, Fate.REFUSED, why
    yield from _names(entries)


def _names(entries: Sequence[TableParameter | MapParameter]) -> Iterator[Repeated]:
    """Yield the MAPs of tables named in full that give one several names, or several one name."""
    targets: dict[TableName, TableName] = {}
    sources: dict[TableName, TableName] = {}
    for number, one in enumerate(entries):
        name = named_in_full(one.pattern) if isinstance(one, MapParameter) else None
        if name is None or not isinstance(one, MapParameter):
            continue
        target = mapped(name, one)
        if sources.setdefault(target, name) != name:
            yield number, Fate.REFUSED, f"{sources[target]} goes to {target}, too: two tables can't be one"
        elif targets.setdefault(name, target) != target:
            why = "is its target before, too: the channel has a target of its own for the second, NAME.2"
            yield number, Fate.ATTENTION, f"{targets[name]} {why} (docs/goldengate.md)"
