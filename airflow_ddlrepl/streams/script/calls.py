"""This module turns a call of a script into a call of a channel file, and says what of it is not taken."""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping
from typing import Any

from pydantic import ValidationError

from airflow_ddlrepl.notation.import_findings import Entry, Fate, message
from airflow_ddlrepl.notation.suggestion import nearest
from airflow_ddlrepl.streams.calls.apply_procedures import SetApplyParameter
from airflow_ddlrepl.streams.calls.procedure import Procedure
from airflow_ddlrepl.streams.procedures.hand_made import USER_PARAMETERS, user_instead
from airflow_ddlrepl.streams.rules.rule import ActionContext
from airflow_ddlrepl.streams.script.action_contexts import ActionPairs, calls_of, replacing
from airflow_ddlrepl.streams.script.blocks import calls_ours
from airflow_ddlrepl.streams.script.expressions import Argument, Call, Unknown
from airflow_ddlrepl.streams.script.vocabulary import (
    CLIENT_PARAMETERS,
    DECISIVE,
    FAMILY,
    OTHER,
    PACKAGES,
    PARAMETERS,
    POSITIONAL,
    TAKEN,
    UNLIMITED,
)

_PLACEHOLDER = re.compile(r"[<>{}\[\]%&]")
_TEXTS = frozenset((
    "and_condition", "condition", "dml_condition", "rule_condition", "rule_comment", "rule_set_comment", "value",
    "column_value", "source_database",
))  # fmt: skip
"""Parameters whose values are texts, and no names."""
_WITHOUT_EFFECT = frozenset({"queue_to_queue", *USER_PARAMETERS})


class Refused(Exception):
    """This error says why a call is not taken, and what becomes of it."""

    def __init__(self, fate: Fate, why: str) -> None:
        super().__init__(fate, why)
        self.fate, self.why = fate, why


class CallReader:
    """A call reader makes values of calls; names that procedures give back are the names of their variables."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.notes: list[tuple[str, Entry]] = []
        self.context: ActionPairs | None = None

    def read(self, call: Call, variables: MutableMapping[str, Any]) -> Procedure | None:
        """Return a call as a value; None for one that nothing is lost without, which `notes` has then.

        Raises Refused.
        """
        name = procedure_name(call.name)
        kind = TAKEN.get(name)
        if kind is None:
            self._note_other(call, name)
            return None
        given = dict(self._by_parameter(call, kind))
        self.context = _context(given)
        values: dict[str, Any] = {}
        for parameter, argument in given.items():
            if parameter in kind.outputs:
                if argument.variable:
                    values[parameter] = variables[argument.variable] = self._free_name(argument.variable)
                continue
            if parameter not in kind.model_fields:
                self._note_parameter(name, parameter, argument)
                continue
            if isinstance(argument.value, Unknown) and parameter in _WITHOUT_EFFECT:
                if parameter in USER_PARAMETERS:  # the warning of one that is known comes with the client
                    entry = Entry(Fate.ATTENTION, f"it has no effect: {user_instead(parameter)}")
                    self.notes.append((f"{name.rpartition('.')[2]} {parameter}", entry))
                continue
            if isinstance(argument.value, Unknown):
                raise Refused(Fate.REFUSED, f"{parameter} is {argument.value.why}")
            _require_no_placeholder(parameter, argument.value)
            values[parameter] = argument.value
            if argument.value is not None and parameter in PARAMETERS.get(name.rpartition(".")[2], {}):
                self._note_parameter(name, parameter, argument)
        try:
            found = kind.model_validate(_plain(values, kind))
        except ValidationError as error:
            raise Refused(Fate.REFUSED, message(error)) from None
        if isinstance(found, SetApplyParameter):
            self._require(_parameter(found.parameter, found.value))
        return found

    def further(self, made: Procedure, before: ActionContext) -> list[Procedure]:
        """Return the calls that give the rule of a call the pairs of its action context. Raises Refused.

        before: what the rule has already.
        """
        try:
            context = replacing(self.context, before) if self.context else ActionPairs()
            return list(calls_of(str(getattr(made, "rule_name", "")), context))
        except ValueError as error:
            raise Refused(Fate.REFUSED, f"action_context: {error}") from None

    @staticmethod
    def _require(entry: Entry) -> None:
        if entry.fate is Fate.REFUSED:
            raise Refused(Fate.REFUSED, entry.why)

    def _by_parameter(self, call: Call, kind: type[Procedure]) -> Iterator[tuple[str, Argument]]:
        """Yield the arguments by the names of their parameters."""
        order = kind.parameters()
        positional = [one for one in call.arguments if not one.parameter]
        has_outputs = any(one.variable and not isinstance(one.value, bool) for one in positional[_first_output(kind) :])
        if not has_outputs:
            order = [name for name in order if name not in kind.outputs]
        most = POSITIONAL.get(procedure_name(call.name).rpartition(".")[2], len(order))
        if len(positional) > most:
            raise Refused(Fate.REFUSED, f"it has {len(positional)} parameters without names: name those behind {most}")
        yield from zip(order, positional, strict=False)
        for one in call.arguments:
            if one.parameter:
                yield one.parameter, one

    def _note_parameter(self, name: str, parameter: str, argument: Argument) -> None:
        short = name.rpartition(".")[2]
        entry = PARAMETERS.get(short, {}).get(parameter)
        if entry is None:
            guess = nearest(parameter, TAKEN[name].parameters())
            raise Refused(Fate.REFUSED, f"it has no parameter {parameter}. {guess}".rstrip(". "))
        if argument.value is None or argument.value is False:
            return
        if entry.fate is Fate.REFUSED:
            raise Refused(Fate.REFUSED, f"{parameter}: {entry.why}")
        self.notes.append((f"{short} {parameter}", entry))

    def _note_other(self, call: Call, name: str) -> None:
        package, _, short = name.rpartition(".")
        entry = OTHER.get(name)
        if short == "SET_PARAMETER" and FAMILY.fullmatch(package):
            entry = _parameter(*_set(call))
        if entry is None and any(isinstance(one.value, str) and calls_ours(one.value) for one in call.arguments):
            raise Refused(Fate.REFUSED, "what it runs calls Streams: write the calls themselves")
        _require_undecided(call, name)
        if entry is None and FAMILY.fullmatch(package):
            guess = nearest(name, [one for one in (*TAKEN, *OTHER) if one.startswith(f"{package}.")])
            guess = guess or "write what it sets up as calls of DBMS_STREAMS_ADM, or take it out"
            raise Refused(Fate.REFUSED, f"it is not known. {guess}")
        if entry is None:
            raise Refused(Fate.ATTENTION, "it is not known, and not read")
        if entry.fate is Fate.REFUSED:
            raise Refused(Fate.REFUSED, entry.why)
        self.notes.append((short if package in PACKAGES else name, entry))

    def _free_name(self, variable: str) -> str:
        """Return the name of a rule that a variable gets: the variable's, with a number when it is taken."""
        name, number = variable, 1
        while name in self.names:
            number += 1
            name = f"{variable}_{number}"
        self.names.add(name)
        return name


def _first_output(kind: type[Procedure]) -> int:
    order = kind.parameters()
    return min((order.index(name) for name in kind.outputs), default=len(order))


def procedure_name(name: str) -> str:
    """Return PACKAGE.NAME of a call, without the package's owner, and without a database behind @."""
    return ".".join(name.partition("@")[0].replace('"', "").split(".")[-2:])


def _plain(values: dict[str, Any], kind: type[Procedure]) -> dict[str, Any]:
    """Return the values without those that are NULL where that is a parameter's default."""
    return {
        name: value
        for name, value in values.items()
        if value is not None or kind.model_fields[name].is_required() or kind.model_fields[name].default is not None
    }


def _set(call: Call) -> tuple[Any, Any]:
    """Return the parameter and the value of a call of SET_PARAMETER."""
    named = {one.parameter: one.value for one in call.arguments}
    positional = [one.value for one in call.arguments if not one.parameter] + [None] * 3
    return named.get("parameter", positional[1]), named.get("value", positional[2])


def _parameter(name: Any, value: Any) -> Entry:
    """Return what becomes of a parameter of a capture or apply process; one that is not known is refused."""
    entry = CLIENT_PARAMETERS.get(str(name).lower())
    if entry is None:
        return Entry(Fate.REFUSED, f"the parameter {name} is not known: find out what it does, or take it out")
    if entry.fate is Fate.REFUSED and str(value or "NONE").upper() in UNLIMITED:
        return Entry(Fate.SAFE, "it leaves nothing out")
    return entry


def _context(arguments: dict[str, Argument]) -> ActionPairs | None:
    """Take the pairs out of a call's arguments, where it has an action context that is known."""
    argument = arguments.get("action_context")
    if argument is None or not isinstance(argument.value, ActionPairs):
        return None
    del arguments["action_context"]
    return argument.value


def _require_undecided(call: Call, name: str) -> None:
    """Raise Refused where an argument of a procedure that is not taken decides which messages arrive."""
    order, reasons = DECISIVE.get(name, ((), {}))
    given = dict(zip(order, (one for one in call.arguments if not one.parameter), strict=False))
    given |= {one.parameter: one for one in call.arguments if one.parameter}
    for parameter, why in reasons.items():
        if parameter in given and given[parameter].value is not None:
            raise Refused(Fate.REFUSED, f"{parameter}: {why}")


def _require_no_placeholder(parameter: str, value: Any) -> None:
    """Raise Refused for a name with a sign that no name has without quotes: a template was not filled in."""
    if isinstance(value, str) and "\ufffd" in value:
        raise Refused(Fate.REFUSED, f"{parameter} has bytes that are no UTF-8: save the script as UTF-8")
    if not isinstance(value, str) or parameter in _TEXTS or '"' in value:
        return
    if (sign := _PLACEHOLDER.search(value)) is not None:
        raise Refused(Fate.REFUSED, f"{parameter} is {value}: {sign[0]} stands in no name, fill the placeholder in")
