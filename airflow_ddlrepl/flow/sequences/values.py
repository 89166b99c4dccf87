"""Values of sequences are compared in the direction in which a sequence counts."""

from __future__ import annotations

from airflow_ddlrepl.model.sequence import SequenceDefinition, SequenceValue


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
