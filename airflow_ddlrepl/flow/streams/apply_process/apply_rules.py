"""The rules of an apply client decide about each message of its queue, and transform those that it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.flow.streams.apply_process.allowed_code import NO_CODE, AllowedCode
from airflow_ddlrepl.model.change import Event, EventKind, why_ignored
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.sql.spelling import spell
from airflow_ddlrepl.streams.apply_message import ApplyMessage
from airflow_ddlrepl.streams.condition import tree
from airflow_ddlrepl.streams.messages import Command, DdlLcr, Message, MessageClass, RowLcr, UserMessage
from airflow_ddlrepl.streams.queue.custom_functions import CustomFunctions
from airflow_ddlrepl.streams.queue.ddl_lcrs import ddl_lcrs
from airflow_ddlrepl.streams.queue.message_rules import after_rule
from airflow_ddlrepl.streams.queue.missing_values import lacks_new_values, lacks_old_values
from airflow_ddlrepl.streams.queue.reader import Queued
from airflow_ddlrepl.streams.queue.stage import ClientStage
from airflow_ddlrepl.streams.rules.apply_settings import ENQUEUE, EXECUTE, ApplySettings
from airflow_ddlrepl.streams.rules.client import Client
from airflow_ddlrepl.streams.rules.decide import Reason, Verdict, decide
from airflow_ddlrepl.streams.rules.rule import ActionContext, Rule
from airflow_ddlrepl.streams.transformations.declared import Declared, RenameColumn, in_order

OTHER_DATABASE = "it is not of the client's source database"
INSTANTIATED = "the target has it already (instantiation)"
SUSPENDED = "the table is suspended until it is loaded"
_IN_COMMON = frozenset({
    "get_object_owner", "get_object_name", "get_source_database_name", "get_command_type", "get_tag", "is_null_tag",
})  # fmt: skip


@dataclass
class ApplyRules:
    """The rules of an apply client with what it does besides them. database: the name of the source's.

    stage: evaluates statements of the log; None: they are evaluated as single messages. code: what they may carry.
    suspended: from where tables of the source are suspended at the target, by id.
    discarded: how many messages it has not taken, by object and reason. warnings: about rules that contradict each
    other. evaluated: how many conditions were evaluated.
    """

    client: Client
    settings: ApplySettings
    functions: CustomFunctions
    database: str
    stage: ClientStage | None = None
    code: AllowedCode = NO_CODE
    suspended: Mapping[int, Position] = field(default_factory=dict)
    discarded: Counter[str] = field(default_factory=Counter)
    warnings: dict[str, None] = field(default_factory=dict)
    evaluated: int = 0
    _shapes: dict[tuple[int, tuple[Declared, ...]], tuple[Table, Table]] = field(default_factory=dict)
    _verdicts: dict[tuple[Any, ...], Verdict] = field(default_factory=dict)
    _keys: dict[tuple[int, tuple[Declared, ...]], tuple[Table, tuple[str, ...]]] = field(default_factory=dict)

    def require_functions(self) -> None:
        """Raise RuleError RUL-134 or RUL-135 where a rule or a handler names a function that can't be called."""
        self.functions.require(rule.action.function for rule in self._rules() if rule.action.function)
        self.functions.require(sorted(self.settings.functions))
        self._require_single_messages()

    @property
    def reads_values(self) -> bool:
        """Return whether a rule compares values of rows, or a function gets them: then they are needed with types."""
        return any(
            rule.action.function or any(isinstance(node, tree.ColumnValue) for node in rule.condition.walk())
            for rule in self._rules()
        )

    def _rules(self) -> list[Rule]:
        sets = [rules for rules in (self.client.positive, self.client.negative) if rules is not None]
        return [rule for one in sets for rule in one.rules.values()]

    def _require_single_messages(self) -> None:
        for rule in self._rules():
            if rule.action.function and self.functions.takes_batches(rule.action.function):
                raise RuleError(
                    f"function {rule.action.function} takes batches of rows, and an apply process has single messages",
                    code="RUL-146",
                    hint="write a function that takes one message, or transform at a capture or a propagation",
                )

    def taken(self, incoming: Queued) -> list[ApplyMessage]:
        """Return a message as the client's rules leave it; of a statement one for each object that the client takes.

        Raises RuleError (RUL-…) where a condition or a transformation fails: then the message waits.
        """
        event = incoming.event
        if self._is_suspended(incoming):
            self._discard(incoming.message, SUSPENDED)
            return []
        if event is not None and self.stage is not None and event.kind in (EventKind.DDL, EventKind.TRUNCATE):
            return list(self._statement(incoming, event, self.stage))
        found = self._one(incoming)
        allowed = None if found is None else self._allowed(found)
        return [] if allowed is None else [allowed]

    def _is_suspended(self, incoming: Queued) -> bool:
        """Return whether a change is of suspended tables alone; one that drops a table goes on."""
        event = incoming.event
        if not self.suspended:
            return False
        if event is None:
            ids = {incoming.table_id} if incoming.message.message_class is MessageClass.CAPTURED else set()
        elif event.kind is EventKind.TRUNCATE:
            ids = {table_id for table_id, _ in event.dropped}
        else:
            ids = {table.id for table in event.tables} if not event.dropped else set()
        return bool(ids) and all(incoming.key.lsn >= self.suspended.get(one, incoming.key.behind) for one in ids)

    def _statement(self, incoming: Queued, event: Event, stage: ClientStage) -> Iterator[ApplyMessage]:
        """Yield the LCRs of a statement as the rules leave it: with the names that its tables' rows get, too."""
        before = ddl_lcrs(event, self.database)
        if before and (why := self._passed_over(before[0], incoming.key)):
            self._discard(before[0], why)
            return
        for left in stage.events(event):
            if why := why_ignored(left):
                self.discarded[f"{_object(before[0]) if before else event.tag}: {why}"] += 1
                continue
            rule = decide(self.client, before[0]).rule if before else None
            for lcr in ddl_lcrs(left, self.database):
                found = self._for_apply(
                    replace(incoming, event=left), lcr, rule.action if rule is not None else ActionContext()
                )
                if (allowed := self._allowed(found)) is not None:
                    yield allowed

    def _one(self, incoming: Queued) -> ApplyMessage | None:
        lcr = None if isinstance(incoming.message, UserMessage) else incoming.message
        if lcr is not None and (why := self._passed_over(lcr, incoming.key)):
            self._discard(lcr, why)
            return None
        verdict = self.decided(incoming.typed)
        self.evaluated += sum(verdict.evaluated)
        self.warnings.update(dict.fromkeys(verdict.warnings))
        if verdict.reason is Reason.MISSING_COLUMN and not self._is_outgrown(incoming):
            raise lacks_old_values(_object(incoming.message), f"{_object(incoming.message)}: {verdict.why}")
        action = verdict.rule.action if verdict.rule is not None else ActionContext()
        message = incoming.message
        if verdict.is_taken:
            _require_whole_insert(incoming, action)
            texts = lcr if isinstance(lcr, RowLcr) else None
            verdict, message = after_rule(verdict, self.client, incoming.typed, self.functions, texts)
        if verdict.is_taken:
            return self._for_apply(incoming, message, action)
        self._discard(message, verdict.why)
        return None

    def decided(self, message: Message) -> Verdict:
        """Return whether the client takes a message, which stands for all that its rules can't tell from it."""
        if not isinstance(message, RowLcr):
            return decide(self.client, message)
        key = (message.owner, message.name, message.source_database, message.command, message.tag)
        found = self._verdicts.get((*key, message.message_class))
        if found is None:
            found = decide(self.client, message)
            if not any(looks_at_rows(rule) for rule in self.about(message)):
                self._verdicts[*key, message.message_class] = found
        return found

    def about(self, message: Message) -> Iterator[Rule]:
        """Yield the rules that can be true for a message by its kind and the names of its object."""
        for one in (self.client.positive, self.client.negative):
            if one is not None:
                yield from (rule for rule in one.about(message) if rule.is_about(message))

    def _is_outgrown(self, incoming: Queued) -> bool:
        """Return whether the row's table lacks a column that a subset rule needs: old values would not help."""
        rules = self.client.positive.about(incoming.typed) if self.client.positive is not None else ()
        nodes = (node for rule in rules if rule.action.subset is not None for node in rule.condition.walk())
        needed = {node.column for node in nodes if isinstance(node, tree.ColumnValue | tree.IsAbsent)}
        return incoming.shape is not None and not needed <= {column.name for column in incoming.shape.columns}

    def _allowed(self, found: ApplyMessage) -> ApplyMessage | None:
        """Return a message without the code and rights of its statement; a function of the channel's gets all of it."""
        if not isinstance(found.message, DdlLcr) or not found.executes or self.settings.ddl_handler:
            return found
        lcr, why = self.code.allowed(found.message)
        if why:
            self._discard(found.message, f"{found.message.command}: {why}")
        return None if lcr is None else replace(found, message=lcr)

    def _discard(self, message: Message, why: str) -> None:
        self.discarded[f"{_object(message)}: {why}"] += 1

    def _passed_over(self, lcr: RowLcr | DdlLcr, key: LogKey) -> str:
        if self.settings.source_database not in ("", lcr.source_database):
            return OTHER_DATABASE
        commit_scn = key.lsn if lcr.commit_scn is None else lcr.commit_scn
        return INSTANTIATED if any(one.has(lcr, commit_scn) for one in self.settings.applied) else ""

    def _for_apply(self, incoming: Queued, message: Message, action: ActionContext) -> ApplyMessage:
        shape, keys = incoming.shape, self._key_columns(incoming, action.declared)
        if shape is not None and action.declared:
            shape = self._renamed(shape, action.declared)
        event = incoming.event
        if isinstance(message, DdlLcr) and not message.text and event is not None:
            message = replace(message, text=_truncating(event))
        return ApplyMessage(
            message,
            keys,
            shape,
            event.schema_path if event is not None else "",
            str(event.settings.get("timezone") or "") if event is not None else "",
            str(action.pairs.get(ENQUEUE) or ""),
            action.pairs.get(EXECUTE) != "NO",
            incoming.key,
        )

    def _key_columns(self, incoming: Queued, declared: tuple[Declared, ...]) -> tuple[str, ...]:
        """Return the names of the columns of a row's key, with the names that transformations give them."""
        shape, keys = incoming.shape, incoming.key_columns
        if shape is not None and shape.key is not None:  # a log with whole old rows calls all columns a key
            of = (id(shape), declared)
            if of not in self._keys:
                known = {column.id: column.name for column in shape.columns}
                own = tuple(known[number] for number in shape.key.columns if number in known)
                self._keys[of] = (shape, _with_names(own, declared))
            return self._keys[of][1]
        return _with_names(keys, declared)

    def _renamed(self, shape: Table, declared: tuple[Declared, ...]) -> Table:
        """Return a shape with its columns renamed as declared; always the same object for the same shape."""
        key = (id(shape), declared)
        if key not in self._shapes:
            columns = shape.columns
            for one in in_order(declared):
                if isinstance(one, RenameColumn):
                    columns = tuple(replace(c, name=one.to) if c.name == one.column else c for c in columns)
            self._shapes[key] = (shape, shape.with_(columns=columns))
        return self._shapes[key][1]


def _require_whole_insert(incoming: Queued, action: ActionContext) -> None:
    """Raise RuleError RUL-133 where an update that comes into a subset lacks values of the row."""
    lcr = incoming.message
    if action.subset is not Command.INSERT or not isinstance(lcr, RowLcr) or incoming.shape is None:
        return
    missing = [one.name for one in incoming.shape.columns if one.name not in {*lcr.old, *lcr.new}]
    if lcr.command is Command.UPDATE and missing:
        raise lacks_new_values(_object(lcr), missing)


def looks_at_rows(rule: Rule) -> bool:
    """Return whether a rule's condition is about more than rows of a table have in common: command, tag, names."""
    nodes = list(rule.condition.walk())
    attributes = {node.name for node in nodes if isinstance(node, tree.Attribute)}
    return not attributes <= _IN_COMMON or any(isinstance(node, tree.ColumnValue | tree.IsAbsent) for node in nodes)


def _with_names(columns: tuple[str, ...], declared: tuple[Declared, ...]) -> tuple[str, ...]:
    for one in in_order(declared):
        if isinstance(one, RenameColumn):
            columns = tuple(one.to if column == one.column else column for column in columns)
    return columns


def _truncating(event: Event) -> str:
    """Return the text of a TRUNCATE, of which the log has the tables alone; empty: it is another statement."""
    if event.kind is not EventKind.TRUNCATE:
        return ""
    names = ", ".join(".".join(spell(part) for part in name) for _, name in event.dropped)
    return f"TRUNCATE TABLE {names}{' RESTART IDENTITY' if event.settings.get('restart_identity') else ''}"


def _object(message: Message) -> str:
    return message.type if isinstance(message, UserMessage) else f"{message.owner}.{message.name}"
