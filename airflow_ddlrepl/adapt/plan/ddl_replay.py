"""The text of a statement on tables in `replay_ddl` runs at the target; its effect on rows is planned as for any other.

Pure. A text that is not known, reaches beyond the tables it is about, or meets a table that is not as the source's
was, is refused: the table can be adapted for that run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from airflow_ddlrepl.adapt.plan_model import Expected, Omission, Step, StepKind, TablePlan
from airflow_ddlrepl.adapt.shape.match_existing import differences
from airflow_ddlrepl.adapt.target_facts import About, Refusal, Renderer
from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.base.same_shape import COLUMNS, partitioned_alike
from airflow_ddlrepl.ddl.base.same_shape import differences as unlike_shapes
from airflow_ddlrepl.ddl.columns.add_column import AddColumn
from airflow_ddlrepl.ddl.columns.change_default import ChangeDefault
from airflow_ddlrepl.ddl.columns.change_generated import ChangeGenerated
from airflow_ddlrepl.ddl.columns.change_identity import ChangeIdentity
from airflow_ddlrepl.ddl.columns.drop_column import DropColumn
from airflow_ddlrepl.ddl.columns.fill_column import FillColumn
from airflow_ddlrepl.ddl.diff import diff
from airflow_ddlrepl.ddl.sql.expression import is_value
from airflow_ddlrepl.ddl.sql.replayable import Named, Reading, as_run, read
from airflow_ddlrepl.ddl.types.change_type_definition import ChangeTypeDefinition
from airflow_ddlrepl.ddl.types.create_type import ForgetType
from airflow_ddlrepl.model.change import Event
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.types import TypeDefinition
from airflow_ddlrepl.ports.types import TypeSystem
from airflow_ddlrepl.sql.lexer import canonical

BY, BY_REPLICAT = "replay_ddl", "replicat"
NEW = "CREATE TABLE"
HINT = "everything before the change is applied; name %s in `exclude` of replay_ddl: then the next run adapts it"
REPLICAT_HINT = (
    "everything before the change is applied. Mend the target and run again; or let a rule of DDLERROR (`errors` of"
    " replicat) pass the statement over; or load the table: `ddlrepl refresh CHANNEL.yaml --table %s`"
)
_ALL_OR_NONE = "a statement is replayed for all its tables or for none"


@dataclass(frozen=True, slots=True)
class Mapped:
    """A mapped statement is one as a Replicat has made it for a target.

    text: what runs. names: what the tables that it is about are called at the target before it; schemas: where those
    lie that it makes. path: the schemas that names without one are looked for in, as a text.
    """

    text: str
    names: frozenset[TableName]
    schemas: tuple[str, ...]
    path: str


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement is what the source has run and the target shall run, as far as it concerns one table.

    before, after: the source's shapes around it. present: the target's table;
    was: what it would be, made from `before`. names: the names of the statement's tables at the source before it,
    by id. adapted: those of them that are not replayed at this target. loaded: those that a refresh has loaded since
    the statement. refusal: the target's error for the text. in_the_way: another table has the new name there. mapped:
    the statement with the target's names; None: it runs as the source has run it. may_call: may its expressions call
    whatever they call?
    """

    event: Event
    before: Table | None = None
    after: Table | None = None
    present: Table | None = None
    was: Table | None = None
    names: Mapping[int, TableName] = field(default_factory=dict)
    adapted: tuple[TableName, ...] = ()
    loaded: tuple[TableName, ...] = ()
    refusal: Refusal | None = None
    in_the_way: bool = False
    mapped: Mapped | None = None
    may_call: bool = False

    @property
    def text(self) -> str:
        """Return the text that the target is to run; empty: it is not known."""
        return self.mapped.text if self.mapped is not None else self.event.statement or ""

    @property
    def reading(self) -> Reading:
        """Return what the text is about, and whether it may run at the target."""
        return read(self.text if self.event.statement is not None else "", self.event.tag, may_call=self.may_call)

    @property
    def known(self) -> set[TableName]:
        """Return what the tables of the statement are called at the target before it."""
        return set(self.names.values()) if self.mapped is None else set(self.mapped.names)

    @property
    def decided_by(self) -> str:
        """Return the section of the channel file that has the text run."""
        return BY if self.mapped is None else BY_REPLICAT

    @property
    def joins(self) -> bool:
        """Is the table to be loaded, as at activation?

        Its shape is made from the catalog then, whatever statement brought it.
        """
        return self.present is None and (self.event.is_inspected or self.event.tag != NEW)

    def is_none(self, found: TablePlan) -> bool:
        """Was the table only inspected, and nothing but rows changed, or what a target has nothing to do for?"""
        return self.event.is_inspected and not (found.changes and found.steps)


def with_source_text(found: TablePlan, of: Statement, render: Renderer, types: TypeSystem) -> TablePlan:
    """Return the plan with the source's text in place of the SQL that was made of the change, or a refusal.

    found: what the planner makes of the change, under `REPLAYED`.
    """
    is_none = of.is_none(found) or of.event.is_about_feed
    if of.joins or is_none or any(step.kind is StepKind.REFUSE for step in found.steps):
        return found
    reading = of.reading
    code, why = _refused(found, of, reading)
    if why:
        ours = sorted(set(map(str, of.names.values())) - set(map(str, of.adapted)))
        hint = HINT % ", ".join(ours) if of.mapped is None else REPLICAT_HINT % str(found.name)
        step = Step(StepKind.REFUSE, why, policy=of.decided_by, code=code, hint=hint)
        return replace(found, steps=(step,), shape=of.present, is_removed=False, until_refresh=None)
    warnings = tuple(step for step in found.steps if step.kind is StepKind.WARN)
    refresh = tuple(step for step in found.steps if step.kind is StepKind.REFRESH)
    if reading.local:
        return replace(found, steps=(*warnings, _not_replayed(of, reading), *refresh), until_refresh=None)
    shared = tuple(s for s in found.steps if s.kind is StepKind.SQL and s.shared and reading.type is None)
    stops = tuple(step for step in found.steps if step.kind is StepKind.CONTROL)
    text = _text(found, of, reading, render)
    steps = (*stops, *warnings, *shared, text, *_afterwards(of, found, render, types), *refresh)
    hazards = tuple(hazard for hazard in found.hazards if hazard not in found.left_at_source)
    return replace(found, steps=steps, hazards=hazards, until_refresh=None, expected=_expected(of, found))


def run_alone(name: TableName, of: Statement, render: Renderer) -> TablePlan:
    """Return the plan that runs a source's text for a table that no MAP lists, as it is; or a refusal.

    The channel does not have the table at the target, so what the text makes of it there is not compared.
    """
    event, reading = of.event, of.reading
    found = TablePlan(name, name, (), (), (), (), None, is_text_alone=True)
    code, why = ("ADP-153", of.refusal.why) if of.refusal is not None else ("", "")
    if not why and event.statement is None:
        code, why = "ADP-150", _unknown(event)
    if not why and reading.refused:
        code, why = "ADP-151", f"`{_line(event)}` can't be replayed: {reading.refused}"
    if event.discarded:
        left = f"{event.tag}: {event.discarded}"
        step = Step(StepKind.WARN, left, policy=event.discarded, omits=Omission.CHANGE)
    elif why:
        step = Step(StepKind.REFUSE, why, policy=BY_REPLICAT, code=code, hint=REPLICAT_HINT % str(name))
    elif reading.local:
        step = _not_replayed(of, reading)
    else:
        step = text_alone(of, f"{event.tag} of a table that no MAP lists", About(), render)
    return replace(found, steps=(step,))


def _not_replayed(of: Statement, reading: Reading) -> Step:
    """Return the step that tells of a statement which does nothing that the target gets."""
    why = f"not replayed: `{_line(of.event)}`: {reading.local}"
    if not reading.is_missed:
        return Step(StepKind.WARN, why, policy=of.decided_by)
    return Step(StepKind.WARN, why, policy=f"{of.event.tag} is not replayed: {reading.local}", omits=Omission.CHANGE)


def text_alone(of: Statement, why: str, about: About, render: Renderer) -> Step:
    """Return the step that runs a Replicat's text of which the channel compares nothing at the target."""
    zone, path = of.event.settings.get("timezone"), of.mapped.path if of.mapped is not None else ""
    return Step(StepKind.SQL, why, render.replayed_text(as_run(of.text), path, zone, about), BY_REPLICAT, shared=True)


def unlike(expected: Expected, found: Table | None, types: TypeSystem) -> tuple[str, ...]:
    """Return how the target's table differs from what the text must have made of it; columns of people don't count."""
    if expected.shape is None or found is None:
        return () if expected.shape is found else (f"it is {'not there' if found is None else 'still there'}",)
    wrong = [str(change) for change in differences(found, expected.shape, types) if _counts(change, expected)]
    there, wanted = found.partition, expected.shape.partition
    if there is not None and wanted is not None and there.of_name != wanted.of_name:
        wrong.append(f"it is a partition of {there.of_name}, not of {wanted.of_name}")
    return tuple(wrong)


def _refused(found: TablePlan, of: Statement, reading: Reading) -> tuple[str, str]:
    """Return the code and reason why the text may not run; both are empty where it may."""
    event, name = of.event, found.name
    if of.refusal is not None:
        return "ADP-153", of.refusal.why
    if event.is_inspected:
        return "ADP-150", f"what was run on {name} is not known: the change was found by inspection only"
    if event.statement is None and not reading.local:
        return "ADP-150", _unknown(event)
    if of.adapted and not reading.local:
        others = ", ".join(map(str, of.adapted))
        return "ADP-152", f"`{_line(event)}` also changes {others}, not replayed here: {_ALL_OR_NONE}"
    if of.loaded and not reading.local:
        others = ", ".join(map(str, of.loaded))
        return "ADP-152", f"{others} was loaded after `{_line(event)}` had run: {_ALL_OR_NONE}"
    if reading.refused:
        return "ADP-151", f"`{_line(event)}` can't be replayed: {reading.refused}"
    if reading.local:
        counts = any(step.kind is StepKind.SQL for step in found.steps)
        return ("ADP-151", f"`{_line(event)}` changes the table's shape, but: {reading.local}") if counts else ("", "")
    strange = _strange(of, reading)
    if strange and of.mapped is not None and of.after is not None and strange in {n.name for n in of.names.values()}:
        return "ADP-151", _unmapped(of, of.after.name, strange)
    if strange:
        return "ADP-151", f"`{_line(event)}` can't be replayed: it names {strange}, no table or type of this change"
    if of.mapped is None and of.after is not None and found.target != of.after.name:
        return "ADP-151", f"{of.after.name} is called {found.target} at the target: a text can't be renamed"
    if of.mapped is None and of.in_the_way:
        return "ADP-153", f"another table has the name {found.target} at the target"
    if of.present is not None and of.was is not None and (other := ", ".join(_other(of.present, of.was))):
        return "ADP-153", f"before `{_line(event)}` the target's table differed from the source's: {other}"
    return "", ""


def _unknown(event: Event) -> str:
    return (
        f"the text of this {event.tag} is not known: it is one of several in a query string that can't be split, it"
        " ran inside a function, or it has a password"
    )


def _unmapped(of: Statement, new: TableName, old: str) -> str:
    return (
        f"`{_line(of.event)}` can't be replayed: no MAP lists {new}, so the text keeps the source's names, and the"
        f" target has no {old} (with `ddl: {{include: [{{scope: MAPPED}}]}}` its table would stay as it is)"
    )


def _line(event: Event) -> str:
    return " ".join((event.statement or event.tag).split()).rstrip("; ")


def _strange(of: Statement, reading: Reading) -> str:
    """Return a name in the text that is none of the tables that the server says it was about; empty: there is none."""
    for named in reading.tables:
        if len(_meant(named, of.known)) != 1:
            return named.name
    if reading.type is not None and len(_meant(reading.type, _types(of))) != 1:
        return reading.type.name
    return ""


def _meant(named: Named, known: set[TableName]) -> list[TableName]:
    return [name for name in known if name.name == named.name and named.schema in (None, name.schema)]


def _types(of: Statement) -> set[TableName]:
    return {TableName(t.schema, t.name) for t in (of.before.types if of.before else ())}


def _other(existing: Table, was: Table) -> Iterator[str]:
    """Yield what differs between the target's table and the source's.

    The target's table alone may keep some columns, or have wider ones, from when it was adapted.
    """
    yield from (f"column {name}" for name in sorted({one.column for one in unlike_shapes(was, existing, COLUMNS)}))
    if not partitioned_alike(existing, was):
        yield "its partitioning"


def _text(found: TablePlan, of: Statement, reading: Reading, render: Renderer) -> Step:
    """Return the step that runs the text; every table of the statement gets an equal one."""
    known, mapped = of.known, of.mapped
    about = About(
        tuple((named.name, _meant(named, known)[0]) for named in reading.tables if named.schema is None),
        tuple((named.name, _meant(named, _types(of))[0]) for named in (reading.type,) if named and not named.schema),
        tuple(sorted({table.name.schema for table in of.event.tables})) if mapped is None else mapped.schemas,
    )
    event = of.event
    text = as_run(of.text)
    path = event.schema_path if mapped is None else mapped.path
    zone = event.settings.get("timezone")
    sql = render.replayed_text(text, path, zone, about)
    own = any(step.own_transaction for step in found.steps)
    why = f"{event.tag} as the source has run it" if mapped is None else f"{event.tag} as Replicat has mapped it"
    return Step(StepKind.SQL, why, sql, of.decided_by, own_transaction=own, shared=True)


def _afterwards(of: Statement, found: TablePlan, render: Renderer, types: TypeSystem) -> Iterator[Step]:
    """Yield the steps after the text: fill what the target computes otherwise, let values into identity columns."""
    shape, after = found.shape, of.after
    if shape is None or after is None:
        return
    before = {column.id: column for column in (of.before.columns if of.before else ())}
    changes = diff(of.present, shape, types) if of.present is not None and not found.needs_refresh else ()
    for column in (change.column for change in changes if isinstance(change, AddColumn)):
        if column.missing is not None and not is_value(column.default or "", column.missing):
            fill = FillColumn(column, column.missing)
            yield Step(StepKind.SQL, str(fill), render.sql(fill, shape))
    for column in after.columns if after.partition is None else ():
        was = before.get(column.id)
        if column.identity == "always" and (was is None or was.identity != column.identity):
            lets = ChangeIdentity(column.id, column.name, column.identity, shape.column(column.id).identity)
            yield Step(StepKind.SQL, str(lets), render.sql(lets, shape))


def _expected(of: Statement, found: TablePlan) -> Expected:
    shape, known = found.shape, {column.id: column for column in (of.after.columns if of.after else ())}
    if found.is_removed or shape is None:
        return Expected(None)
    left = (c.name for c in shape.columns if c.default is None and c.id in known and known[c.id].default is not None)
    own = (c.name for c in shape.columns if c.id not in known)
    return Expected(
        shape, frozenset((*left, *own)), frozenset(c.name for c in (of.present.columns if of.present else ()))
    )


def _counts(change: SchemaChange, expected: Expected) -> bool:
    """Does this difference between the table's shape and its expected shape matter?"""
    if isinstance(change, DropColumn):
        return change.column.name in expected.before
    if isinstance(change, ChangeDefault):
        return change.name not in expected.free and canonical(change.old or "") != canonical(change.new or "")
    if isinstance(change, ChangeGenerated):
        return change.name not in expected.free
    if isinstance(change, ChangeTypeDefinition):
        return _rows_of(change.old) != _rows_of(change.new)
    return not isinstance(change, ForgetType)


def _rows_of(of: TypeDefinition) -> tuple[object, ...]:
    """Return the parts of a type's definition that its values are made of."""
    return of.labels, [(a.name, canonical(a.type)) for a in of.attributes]
