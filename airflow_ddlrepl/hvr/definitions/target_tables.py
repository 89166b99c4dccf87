"""HVR's Key, Datatype, SoftDelete, Extra and CoerceErrorPolicy become `target_tables` of the channel file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from airflow_ddlrepl.config.sections.target_tables import TargetTable
from airflow_ddlrepl.hvr.definitions.definition import ALL, HvrAction
from airflow_ddlrepl.hvr.definitions.sides import Sides
from airflow_ddlrepl.hvr.definitions.table_names import TableNames
from airflow_ddlrepl.notation.import_findings import Fate, message

_EXPRESSIONS = {
    "{hvr_integ_tstamp}": "{commit_time}",
    "{hvr_op}": "{operation}",
    "{hvr_integ_seq}": "{position}",
    "{hvr_tx_seq}": "{sequence}",
}
POLICIES = {"FATAL": "fail", "SILENT": "truncate"}
"""HVR's CoerceErrorPolicy, and ours; for others there is nothing."""
_SIZED = ("varchar", "char", "character varying", "character", "numeric", "decimal")


class Impossible(ValueError):
    """This exception says why a column's parameters together make nothing that the channel file can say."""


def column_entry(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an entry of `target_tables` says for one ColumnProperties action of a column.

    Raises Impossible for parameters that mean nothing together, or another thing.
    """
    found: dict[str, Any] = {}
    if "SoftDelete" in values:
        found["soft_delete"] = name
    elif "Extra" in values:
        found["extra"] = {name: _expression(values)}
    elif "IntegrateExpression" in values:
        raise Impossible("a column of the source gets other values by a function of your own (docs/transform.md)")
    elif "Datatype" in values:
        found["types"] = {name: _type(values)}
    elif values.keys() & {"Length", "Precision", "Scale"}:
        raise Impossible("a size needs its Datatype: write `types` of target_tables")
    if "Key" in values and found.keys() - {"types"}:
        raise Impossible("a key is of the source's columns")
    if "Key" in values:
        found["key"] = [name]
    return found


def _expression(values: Mapping[str, Any]) -> str:
    text = str(values.get("IntegrateExpression") or "")
    if not text:
        raise Impossible("an extra column needs an IntegrateExpression")
    return _EXPRESSIONS.get(text, text)


def _type(values: Mapping[str, Any]) -> str:
    name = str(values["Datatype"]).strip().lower()
    sizes = [str(values[key]) for key in ("Length", "Precision", "Scale") if key in values]
    if sizes and name not in _SIZED:
        raise Impossible(f"the type {name} has no Length, Precision or Scale here")
    return f"{name}({','.join(sizes)})" if sizes else name


class Entries:
    """These are the entries of `target_tables`, put together from actions: the first that matches a table decides."""

    def __init__(self, targets: Sequence[str]) -> None:
        self._targets = targets
        self._found: dict[tuple[str, str], dict[str, Any]] = {}
        self._lines: dict[tuple[str, str], int] = {}

    def add(self, line: int, patterns: Iterable[str], targets: Iterable[str], data: Mapping[str, Any]) -> None:
        """Add what an action says of tables at targets. Raises ValidationError where no entry can say that."""
        TargetTable.model_validate(data)
        for place in ((pattern, target) for pattern in patterns for target in targets):
            self._found[place] = _merged(self._found.get(place, {}), data)
            self._lines[place] = line

    def all(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield each entry with the line of its last action: those of one table first, and equal ones as one."""
        places: dict[str, list[tuple[str, str]]] = {}
        by_text: dict[str, dict[str, Any]] = {}
        for pattern, target in sorted(self._found, key=lambda place: place[0] == ALL):
            own, general = self._found[pattern, target], self._found.get((ALL, target), {})
            data = own if pattern == ALL else _merged(general, own)
            text = f"{pattern} {data}"
            by_text[text] = data
            places.setdefault(text, []).append((pattern, target))
        for text, found in places.items():
            named = [target for _, target in found]
            of = {} if set(named) == set(self._targets) else {"targets": named}
            yield max(self._lines[place] for place in found), {"tables": [found[0][0]], **of, **by_text[text]}


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(one)
    for name, value in other.items():
        before = found.get(name)
        if isinstance(value, dict):
            found[name] = {**(before or {}), **value}
        elif isinstance(value, list):
            found[name] = list(dict.fromkeys([*(before or []), *value]))
        else:
            found[name] = value
    return found


class TargetColumns:
    """This object takes the actions for what only a target's table has. find: takes line, fate, what and why."""

    def __init__(self, sides: Sides, names: TableNames, find: Callable[[int, Fate, str, str], None]) -> None:
        self._sides, self._names, self._find = sides, names, find
        self._entries = Entries([*sides.targets.values()])

    def column(self, action: HvrAction, name: str) -> None:
        """Take an action for what only a target's table has: a key, a type, an extra column."""
        both = sorted(action.values.keys() & {"BaseName", "Absent"})
        if both or self._sides.source in self._sides.reaches(action.locations):
            why = f"write {both[0]} as an action of its own" if both else "write the action for the targets alone"
            self._find(action.line, Fate.REFUSED, "ColumnProperties", why)
            return
        try:
            self._entry(action, column_entry(name, action.values))
        except Impossible as error:
            self._find(action.line, Fate.REFUSED, "ColumnProperties", str(error))
            return
        if "Datatype" in action.values and action.values.keys() & {"Extra", "SoftDelete"}:
            why = (
                "the type of an extra column follows from its expression (write a cast), that of SoftDelete is boolean"
            )
            self._find(action.line, Fate.ATTENTION, "ColumnProperties Datatype", why)
        if action.values.get("IntegrateExpression") == "{hvr_op}":
            why = "the column has `insert`, `update` or `delete`, where HVR has 1, 2 or 0"
            self._find(action.line, Fate.ATTENTION, "ColumnProperties IntegrateExpression", why)

    def coerced(self, action: HvrAction, policy: str) -> None:
        """Take an action that says what becomes of values which a target's column can't hold."""
        if policy not in POLICIES:
            why = (
                f"there is no {policy}: choose what becomes of a value that a target's column can't hold,"
                " `coerce_error_policy` of target_tables: fail, truncate, null or discard"
            )
            self._find(action.line, Fate.REFUSED, "TableProperties CoerceErrorPolicy", why)
            return
        if policy == "SILENT":
            why = "texts that are too long are cut; another value that a target's column can't hold suspends the table"
            self._find(action.line, Fate.ATTENTION, "TableProperties CoerceErrorPolicy", why)
        self._entry(action, {"coerce_error_policy": POLICIES[policy]})

    def _entry(self, action: HvrAction, data: dict[str, Any]) -> None:
        patterns = self._names.patterns(action.tables)
        if patterns is None:
            self._find(action.line, Fate.REFUSED, action.name, f"the channel has no table {action.tables}")
            return
        try:
            self._entries.add(action.line, patterns, self._sides.target_names(action.locations), data)
        except ValidationError as error:
            self._find(action.line, Fate.REFUSED, action.name, message(error))

    def entries(self) -> list[dict[str, Any]]:
        """Return the entries of the channel file; one whose actions contradict each other is refused."""
        found = []
        for line, data in self._entries.all():
            try:
                TargetTable.model_validate(data)
            except ValidationError as error:
                self._find(line, Fate.REFUSED, "ColumnProperties", message(error))
            else:
                found.append(data)
        return found
