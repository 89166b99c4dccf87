"""A type edit is one difference between two definitions of a type that a server can make in place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from airflow_ddlrepl.ddl.base.edit import renames_in_order
from airflow_ddlrepl.model.types import Attribute, TypeDefinition, TypeKind
from airflow_ddlrepl.sql.lexer import canonical


@dataclass(frozen=True, slots=True)
class AddLabel:
    """This edit adds a label to an enum.

    place: "before", "after" or "" (the first label of an empty enum). beside: the label that it is placed beside.
    """

    label: str
    place: str
    beside: str


@dataclass(frozen=True, slots=True)
class RenameLabel:
    """This edit renames a label of an enum; rows that hold it show the new one."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class AddAttribute:
    """This edit adds an attribute to a composite type; existing values have NULL in it."""

    attribute: Attribute


@dataclass(frozen=True, slots=True)
class DropAttribute:
    """This edit drops an attribute of a composite type, and existing values lose its part."""

    name: str


@dataclass(frozen=True, slots=True)
class RenameAttribute:
    """This edit renames an attribute of a composite type."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class AddConstraint:
    """This edit adds a CHECK constraint to a domain."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class DropConstraint:
    """This edit drops a CHECK constraint of a domain."""

    name: str


@dataclass(frozen=True, slots=True)
class SetNotNull:
    """This edit makes a domain refuse NULL, or take it."""

    not_null: bool


@dataclass(frozen=True, slots=True)
class SetDefault:
    """This edit sets a domain's default; None: it has none any more."""

    default: str | None


TypeEdit = (
    AddLabel
    | RenameLabel
    | AddAttribute
    | DropAttribute
    | RenameAttribute
    | AddConstraint
    | DropConstraint
    | SetNotNull
    | SetDefault
)


def edits(old: TypeDefinition, new: TypeDefinition) -> tuple[TypeEdit, ...] | None:
    """Return the edits that lead from one definition of a type to another, in order.

    None: no server can alter that in place.
    """
    if old.kind != new.kind or old.collation != new.collation or _base(old) != _base(new):
        return None
    find = _FIND.get(new.kind)
    found = find(old, new) if find else []
    return None if found is None else tuple(found)


def _base(of: TypeDefinition) -> str | None:
    return canonical(of.base) if of.base else None


def _labels(old: TypeDefinition, new: TypeDefinition) -> list[TypeEdit] | None:
    before, after = frozenset(old.labels), frozenset(new.labels)
    staying = [label for label in new.labels if label in before]
    if list(old.labels) == staying:
        return list(_added(old.labels, new.labels))
    if len(old.labels) != len(new.labels):
        return None
    pairs = [(a, b) for a, b in zip(old.labels, new.labels, strict=True) if a != b]
    if any(a in after or b in before for a, b in pairs):
        return None
    return [RenameLabel(a, b) for a, b in pairs]


def _added(old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[TypeEdit]:
    """Yield the new labels from front to back, so that the label before each of them always exists."""
    known = frozenset(old)
    for at, label in enumerate(new):
        if label in known:
            continue
        if at:
            yield AddLabel(label, "after", new[at - 1])
        else:
            yield AddLabel(label, "before" if old else "", old[0] if old else "")


def _attributes(old: TypeDefinition, new: TypeDefinition) -> list[TypeEdit] | None:
    before = {a.id: a for a in old.attributes}
    after = {a.id: a for a in new.attributes}
    both = before.keys() & after.keys()
    if any(canonical(before[i].type) != canonical(after[i].type) for i in both):
        return None
    found: list[TypeEdit] = [DropAttribute(a.name) for i, a in before.items() if i not in after]
    in_use = frozenset(before[i].name for i in both)
    renames = renames_in_order({i: (before[i].name, after[i].name) for i in both}, in_use)
    found += [RenameAttribute(a, b) for _, a, b in renames]
    return found + [AddAttribute(a) for i, a in after.items() if i not in before]


def _domain(old: TypeDefinition, new: TypeDefinition) -> list[TypeEdit]:
    gone = [c for c in old.constraints if c not in new.constraints]
    found: list[TypeEdit] = [DropConstraint(name) for name, _ in gone]
    found += [AddConstraint(*c) for c in new.constraints if c not in old.constraints]
    if old.not_null != new.not_null:
        found.append(SetNotNull(new.not_null))
    if old.default != new.default:
        found.append(SetDefault(new.default))
    return found


_FIND = {TypeKind.ENUM: _labels, TypeKind.COMPOSITE: _attributes, TypeKind.DOMAIN: _domain}
