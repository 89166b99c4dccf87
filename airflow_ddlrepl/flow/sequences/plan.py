"""The plan of a target's sequences: what lies between them and the source's. It is a value; nothing is written here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.engines.abilities.sequences import SequencePlan, SequenceStep, TrackedSequence
from airflow_ddlrepl.errors import DdlReplError, SourceError, StrangeOwner, TargetError
from airflow_ddlrepl.flow.sequences.default_plan import DefaultPlanner
from airflow_ddlrepl.flow.sequences.places import TargetColumns
from airflow_ddlrepl.flow.sequences.selection import selected
from airflow_ddlrepl.model.names import TableName, displaced_name
from airflow_ddlrepl.model.sequence import ColumnPlace, DbSequence, SequenceCatalog, SequenceDefinition, SequenceValue
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.notation.name_pattern import exact_pattern


@dataclass(frozen=True, slots=True)
class SequencesAt:
    """These are the sequences of a source and of one target, as they are now.

    tracked: what the target knows of the source's, by id. tables: the channel's tables at the target. headroom: how
    many numbers the target's are to be ahead. others: names of sequences of other channels there. strange: why some
    that are there are not used, by name.
    """

    channel: Channel
    target: str
    source: SequenceCatalog
    here: SequenceCatalog
    tracked: Mapping[int, TrackedSequence]
    tables: Mapping[int, TableState]
    headroom: int
    others: frozenset[TableName] = frozenset()
    strange: Mapping[TableName, StrangeOwner] = field(default_factory=dict)


@dataclass
class PlannedSequences:
    """This value has the plan for one target, and what it leaves out.

    names: of all its sequences at the target, by the source's id. refused: what a person has to do something about.
    warnings: what comes with a later cycle, or is as at the source.
    """

    plan: SequencePlan = field(default_factory=SequencePlan)
    names: dict[int, TableName] = field(default_factory=dict)
    refused: list[DdlReplError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def plan_sequences(at: SequencesAt) -> PlannedSequences:
    """Return what brings a target's sequences, and the defaults that draw from them, to the source's."""
    return _Planner(at).run()


class _Planner:
    """This object plans the sequences of one target."""

    def __init__(self, at: SequencesAt) -> None:
        self.at = at
        self.columns = TargetColumns(at.tables)
        present = (table_id for table_id, one in at.tables.items() if one.state is not TableStatus.ORPHANED)
        self.chosen = selected(at.channel, at.source, frozenset(present))
        self.by_name = {one.name: one for one in at.here.sequences.values()}
        self.identities = {one.owner[2:]: one for one in self.by_name.values() if one.is_identity and one.owner}
        self.holders = {one.name: source_id for source_id, one in at.tracked.items()}
        self.found = PlannedSequences()
        self.forgotten: set[int] = {i for i in at.tracked if i in at.source.sequences and i not in self.chosen}
        # By the id of the target's sequence, that of the source's; also of one that the source has no more.
        self.sources = {self.by_name[name].id: i for name, i in self.holders.items() if name in self.by_name}

    def run(self) -> PlannedSequences:
        steps: dict[int, SequenceStep] = {}
        for one in self.at.source.sequences.values():
            if one.id in self.chosen and (step := self._sequence(one)) is not None:
                steps[one.id] = step
        steps |= {step.id: step for step in self._displaced(steps)}
        defaults = DefaultPlanner(self.at.source, self.at.here, self.columns, self.found.names, self.sources).run()
        changed = tuple(step for step in steps.values() if self._changes(step))
        self.found.plan = SequencePlan(changed, tuple(defaults), frozenset(self.forgotten))
        return self.found

    def _changes(self, step: SequenceStep) -> bool:
        known = self.at.tracked.get(step.id)
        return not step.is_about_value or step.value is not None or known != TrackedSequence(step.name, step.seen)

    def _sequence(self, one: DbSequence) -> SequenceStep | None:
        if one.id in self.at.source.locked:
            self.found.warnings.append(f"sequence {one.name} is being altered at the source: the next cycle reads it")
            return None
        if not one.may_read:
            self.found.refused.append(_unreadable_at_source(one))
            return None
        if one.id not in self.at.source.values:
            return None
        owner = self.columns.find(one.owner) if one.owner is not None else None
        found, is_taken_over = self._at_target(one, owner)
        if found is None and one.is_identity:
            return None  # the target has no such column, or not yet
        if found is not None and (whose := self._whose(one, found, owner)):
            self.found.refused.append(_of_somebody_else(one, found, whose))
            return None
        used = found.name if found is not None else self._name(one, owner)
        if not one.is_identity and (error := self.at.strange.get(used)) is not None:
            self.found.refused.append(error)
            return None
        if found is not None and not (found.may_read and found.may_write):
            self.found.refused.append(_unwritable_at_target(found, self.at.target))
            return None
        name = self._name(one, owner)
        if found is not None and one.is_identity and name != found.name and self._is_taken(name):
            name = found.name  # somebody else has it, and nobody has to know an identity column's sequence by name
        if found is not None:
            self.sources[found.id] = one.id
        self.found.names[one.id] = name
        return self._valued(one, found, self._placed(one, found, name, owner), is_new=is_taken_over)

    def _at_target(self, one: DbSequence, owner: ColumnPlace | None) -> tuple[DbSequence | None, bool]:
        """Return the target's sequence for one of the source's, and whether it was that of one that is gone there."""
        if one.is_identity:
            return (self.identities.get(owner[2:]) if owner is not None else None), False
        known = self.at.tracked.get(one.id)
        if known is not None and known.name in self.by_name and not self.by_name[known.name].is_identity:
            return self.by_name[known.name], False
        found = self.by_name.get(self._name(one, owner))
        if found is None or found.is_identity:
            return None, False
        holder = self.holders.get(found.name)
        if holder is None or holder == one.id:
            return found, False
        if holder in self.at.source.sequences:
            return None, False  # it has been renamed, and makes way
        self.forgotten.add(holder)
        return found, True

    def _whose(self, one: DbSequence, found: DbSequence, owner: ColumnPlace | None) -> str:
        """Return whose a sequence is that the channel may not take over; empty where it may."""
        if one.is_identity or found.name in self.holders:
            return ""
        if found.name in self.at.others:
            return "another channel"
        if found.owner is not None and (owner is None or found.owner[2:] != owner[2:]):
            return f"column {found.owner.column} of {found.owner.table}"
        return ""

    def _name(self, one: DbSequence, owner: ColumnPlace | None) -> TableName:
        """Return the name at the target: in the schema of its table, else in the one that its own schema has there."""
        if owner is not None:
            return TableName(owner.table.schema, one.name.name)
        return TableName(self.at.channel.at(self.at.target).target_name(one.name).schema, one.name.name)

    def _is_taken(self, name: TableName) -> bool:
        """Has another sequence the name, which is not one that the source has no more?"""
        holder = self.holders.get(name)
        return name in self.by_name and (holder is None or holder in self.at.source.sequences)

    def _placed(
        self, one: DbSequence, found: DbSequence | None, name: TableName, owner: ColumnPlace | None
    ) -> SequenceStep:
        seen = self.at.source.values[one.id]
        step = SequenceStep(one.id, one.name, name, found.name if found is not None else None, seen)
        if one.is_identity or (one.owner is not None and owner is None and self.columns.waits(one.owner)):
            return step
        has = found.owner[2:] if found is not None and found.owner is not None else None
        return replace(step, owner=owner, changes_owner=has != (owner[2:] if owner is not None else None))

    def _valued(self, one: DbSequence, found: DbSequence | None, step: SequenceStep, *, is_new: bool) -> SequenceStep:
        """Return the step with a value: as at the source where that has gone back, else never back."""
        definition, increment = one.definition, one.definition.increment
        if is_exhausted(definition, step.seen):
            self.found.warnings.append(f"sequence {one.name} has no number left at the source")
        wanted = ahead(definition, step.seen, self.at.headroom)
        if self.at.headroom and wanted == step.seen:
            self.found.warnings.append(f"sequence {one.name} has not {self.at.headroom} numbers left: no headroom")
        if found is None:
            return replace(step, definition=definition, value=wanted)
        known, present = self.at.tracked.get(one.id), self.at.here.values.get(found.id)
        has_gone_back = is_new or (known is not None and is_behind(step.seen, known.seen, increment))
        is_kept = present is not None and definition.includes(present.last) and not has_gone_back
        value: SequenceValue | None = wanted
        if present is not None and (present == wanted or (is_kept and not is_behind(present, wanted, increment))):
            value = None
        if found.definition == definition:
            had = ahead(definition, known.seen, self.at.headroom) if known is not None and is_kept else None
            moved_on = present is not None and had is not None and not is_behind(present, had, increment)
            return replace(step, value=value, moved_on=moved_on)
        return replace(step, definition=definition, value=value or present)

    def _displaced(self, steps: Mapping[int, SequenceStep]) -> Iterator[SequenceStep]:
        """Yield steps that rename sequences which the source has no more and whose name another one gets."""
        wanted = {step.name for step in steps.values() if step.name != step.before}
        for source_id, known in self.at.tracked.items():
            is_gone = source_id not in self.at.source.sequences and source_id not in self.forgotten
            if is_gone and known.name in wanted and known.name in self.by_name:
                name = TableName(known.name.schema, displaced_name(known.name.name, source_id))
                yield SequenceStep(source_id, known.name, name, known.name, known.seen)


def _unreadable_at_source(one: DbSequence) -> SourceError:
    return SourceError(
        f"the role of the source's location may not read sequence {one.name}",
        code="SRC-105",
        hint=f"GRANT SELECT ON SEQUENCE {exact_pattern(one.name)} TO that role, which needs USAGE on the schema, too;"
        " `ddlrepl doctor` prints the statements",
    )


def _of_somebody_else(one: DbSequence, found: DbSequence, whose: str) -> TargetError:
    return TargetError(
        f"sequence {one.name} is not brought to the target: {found.name} is there already, and belongs to {whose}",
        code="TGT-134",
        hint="rename or drop the target's; or leave the source's out, by patterns in `db_sequence`",
    )


def _unwritable_at_target(one: DbSequence, target: str) -> TargetError:
    return TargetError(
        f"the role of target {target} may not read and set its sequence {one.name}",
        code="TGT-133",
        hint=f"GRANT SELECT, UPDATE ON SEQUENCE {exact_pattern(one.name)} TO it, or make it the owner",
    )


def is_behind(value: SequenceValue, other: SequenceValue, increment: int) -> bool:
    """Would a sequence with this value give a number that one with the other value has given already?"""
    return value.place(increment) < other.place(increment)


def ahead(definition: SequenceDefinition, value: SequenceValue, headroom: int) -> SequenceValue:
    """Return the value after so many numbers more; the value itself where the sequence has not so many."""
    number = value.last + headroom * definition.increment
    return SequenceValue(number, value.is_called) if definition.includes(number) else value


def is_exhausted(definition: SequenceDefinition, value: SequenceValue) -> bool:
    """Is there no number left, and the sequence does not begin again?"""
    return value.is_called and not definition.cycles and not definition.includes(value.last + definition.increment)
