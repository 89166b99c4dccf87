"""Explain which rules of Oracle Streams are true for a change or a statement, part by part."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from airflow_ddlrepl.config.sections.streams import Streams
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.notation.import_findings import Fate, message
from airflow_ddlrepl.notation.suggestion import suggestion
from airflow_ddlrepl.sql.dialect import Dialect
from airflow_ddlrepl.sql.names import WITH_BASE, read
from airflow_ddlrepl.streams.calls.section import StreamsParameters
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.messages import DdlLcr, Message, MessageClass
from airflow_ddlrepl.streams.procedures.environment import Environment
from airflow_ddlrepl.streams.procedures.run import environment_of
from airflow_ddlrepl.streams.rules.client import Client, ClientKind
from airflow_ddlrepl.streams.rules.explain import ExplainedClient, ExplainedSet, explain, explain_set
from airflow_ddlrepl.streams.rules.written_messages import message_of
from airflow_ddlrepl.visible import as_lines


@dataclass(frozen=True, slots=True)
class Question:
    """A question is what is to be explained: a change as JSON, or a statement of DDL. client: empty: every one."""

    change: str = ""
    statement: str = ""
    schema: str = ""
    source: str = ""
    dialect: Dialect = Dialect.ORACLE
    client: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """An explanation is that of each client, and then that of each rule set that no client has.

    refused: what of a script could not be taken: the clients are explained without it.
    """

    clients: tuple[ExplainedClient | ExplainedSet, ...]
    refused: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Return whether nothing of the script was refused."""
        return not self.refused

    def to_json(self) -> list[dict[str, Any]]:
        """Return the explanations as JSON values; what was refused stands behind them."""
        return [*(one.to_json() for one in self.clients), *({"refused": one} for one in self.refused)]

    def text(self) -> str:
        """Return the explanations as text for a person; what was refused stands before them."""
        return as_lines([*self._warnings(), *(line for one in self.clients for line in one.lines())])

    def _warnings(self) -> Iterator[str]:
        if self.refused:
            yield f"refused in the script: {len(self.refused)}; what follows is without it"
        yield from (f"  {one}" for one in self.refused)


def explain_rules(path: Path, question: Question) -> Explanation:
    """Explain what the clients of a file do with a change or a statement.

    path: a SQL script, or YAML with a section `streams`. Raises ConfigError CFG-182 for a file that can't be read,
    CFG-183 for a question that can't be answered, RuleError (RUL-…) for rules that can't be made.
    """
    case = NameCase.LOWER if question.dialect is Dialect.POSTGRES else NameCase.UPPER
    parameters, refused = _read(path)
    environment = environment_of(parameters, case)
    clients = list(_chosen(environment, question.client))
    found: list[ExplainedClient | ExplainedSet] = [
        explain(one, each, case) for one in clients for each in _messages(question, case, _class_for(one))
    ]
    if not question.client:
        used = [rules for one in clients for rules in (one.positive, one.negative)]
        unused = [rules for rules in environment.rule_sets.values() if rules not in used]
        asked = [(rules, each) for rules in unused for each in _messages(question, case, MessageClass.PERSISTENT)]
        found += [explain_set(rules, each) for rules, each in asked]
    return Explanation(tuple(found), refused)


def _read(path: Path) -> tuple[StreamsParameters, tuple[str, ...]]:
    """Return the calls in a file, and what of a script is refused. Raises ConfigError CFG-182."""
    if path.suffix.lower() in (".yaml", ".yml", ".json"):
        return parameters_in(path), ()
    from airflow_ddlrepl.streams.script.importing import import_streams  # loads lark

    found = import_streams(path)
    refused = [one for one in found.findings if one.fate is Fate.REFUSED]
    return found.parameters, tuple(f"{one.place(str(path))}: {one.what}: {one.why}" for one in refused)


def parameters_in(path: Path) -> StreamsParameters:
    """Return the calls in a script or in a YAML file, such as a channel file. Raises ConfigError CFG-182."""
    if path.suffix.lower() not in (".yaml", ".yml", ".json"):
        return _read(path)[0]
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        return Streams.model_validate(data.get("streams") if isinstance(data, dict) else data)
    except OSError as error:
        raise _unreadable_script(path, error.strerror or str(error)) from None
    except yaml.YAMLError as error:
        raise _unreadable_script(path, " ".join(str(error).split())) from None
    except ValidationError as error:
        raise _unreadable_script(path, message(error)) from None


def _unreadable_script(path: Path, why: str) -> ConfigError:
    hint = "give a SQL script, or what `ddlrepl import streams` prints of one"
    return ConfigError(f"{path}: {why}", code="CFG-182", hint=hint)


def _chosen(environment: Environment, name: str) -> Iterator[Client]:
    """Yield the clients of this name, or all."""
    clients = list(environment.clients.values())
    wanted = environment.name(name) if name else ""
    found = [one for one in clients if not wanted or one.name == wanted]
    if not found and (name or not environment.rule_sets):
        known = [one.name for one in clients]
        what = f"there is no client {name}" if name else "the file makes no client"
        raise ConfigError(
            what, code="CFG-183", hint=suggestion(wanted, known) if known else "add_table_rules makes one"
        )
    yield from found


def _messages(question: Question, case: NameCase, of: MessageClass) -> Iterator[Message]:
    """Yield what is asked about, as messages of a class unless it names another."""
    if bool(question.change) == bool(question.statement):
        hint = '--change \'{"object": "hr.t", "command": "INSERT", "new": {"id": 1}}\' or --statement \'ALTER TABLE …\''
        raise ConfigError("give either a change or a statement", code="CFG-183", hint=hint)
    if question.statement:
        yield from _statements(question, case, of)
        return
    try:
        data = json.loads(question.change, parse_float=float)
    except ValueError as error:
        raise ConfigError(
            f"the change is no JSON: {error}", code="CFG-183", hint="write it in one pair of quotes"
        ) from None
    if isinstance(data, dict):
        data.setdefault("class", of.value)
        if question.source and "type" not in data:
            data.setdefault("source_database", question.source)
    yield message_of(data, case)


def _class_for(client: Client) -> MessageClass:
    return MessageClass.CAPTURED if client.kind is ClientKind.CAPTURE else MessageClass.PERSISTENT


def _statements(question: Question, case: NameCase, of: MessageClass) -> Iterator[Message]:
    """Yield a DDL LCR for each object of a statement."""
    reading = read(question.statement, question.dialect)
    if not reading.objects and reading.base is None:
        hint = 'give it as JSON: {"object": "hr.t", "command": "ALTER TABLE"}'
        raise ConfigError("the statement names no object that can be read", code="CFG-183", hint=hint)
    schema = question.schema or case.plain("public")
    command = f"{reading.operation} {reading.object_type}".strip()
    base = reading.base
    for one in reading.objects or (None,):
        owner, name = (one.schema or schema, one.name) if one else (None, None)
        of_base: tuple[str | None, str | None] = (base.schema or schema, base.name) if base else (None, None)
        if reading.object_type not in WITH_BASE:
            of_base = (owner, name) if reading.object_type == "TABLE" else (None, None)
        yield DdlLcr(
            owner,
            name,
            case.plain(question.source),
            command=command,
            object_type=reading.object_type,
            base_owner=of_base[0],
            base_name=of_base[1],
            text=question.statement,
            current_schema=schema,
            message_class=of,
        )
