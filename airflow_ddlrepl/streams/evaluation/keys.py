"""This module finds the objects that a condition can be true for, so that rules for other objects are not looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from airflow_ddlrepl.streams.condition import tree

_OWNER = {"get_object_owner": "object", "get_base_table_owner": "base"}
_NAME = {"get_object_name": "object", "get_base_table_name": "base"}
MOST_KEYS = 64


class ObjectKey(NamedTuple):
    """An object key says which objects a condition can be true for. of: `object` or `base`. None: any."""

    of: str
    owner: str | None
    name: str | None


Keys = frozenset[ObjectKey] | None
"""The condition is true for no other objects; None: nothing is known."""


def keys_of(node: tree.Truth) -> Keys:
    """Return the objects that a condition can be true for."""
    match node:
        case tree.Comparison("=", tree.Attribute(name=name), tree.Constant(value)) if isinstance(value, str):
            return _key(name, value)
        case tree.Comparison("=", tree.Constant(value), tree.Attribute(name=name)) if isinstance(value, str):
            return _key(name, value)
        case tree.Among(tree.Attribute(name=name), items, False):
            if all(isinstance(item, tree.Constant) and isinstance(item.value, str) for item in items):
                found = [_key(name, item.value) for item in items if isinstance(item, tree.Constant)]
                return _united(found)
        case tree.AnyOf(of):
            return _united([keys_of(one) for one in of])
        case tree.All(of):
            best: Keys = None
            for one in of:
                best = _both(best, keys_of(one))
            return best
    return None


def _key(attribute: str, value: str) -> Keys:
    if attribute in _OWNER:
        return frozenset([ObjectKey(_OWNER[attribute], value, None)])
    if attribute in _NAME:
        return frozenset([ObjectKey(_NAME[attribute], None, value)])
    return None


def _united(found: Sequence[Keys]) -> Keys:
    if any(one is None for one in found):
        return None
    keys = frozenset(key for one in found if one for key in one)
    return keys if len(keys) <= MOST_KEYS else None


def _both(left: Keys, right: Keys) -> Keys:
    """Return keys of what has to be true for both; the left ones alone where they can't be joined."""
    if left is None or right is None:
        return left if right is None else right
    if len({key.of for key in left | right}) != 1 or len(left) * len(right) > MOST_KEYS:
        return left
    joined = [
        ObjectKey(one.of, one.owner or other.owner, one.name or other.name)
        for one in left
        for other in right
        if _agree(one.owner, other.owner) and _agree(one.name, other.name)
    ]
    return frozenset(joined)


def _agree(one: str | None, other: str | None) -> bool:
    return one is None or other is None or one == other


class KeyIndex:
    """A key index finds the conditions that can be true for an object, by their numbers."""

    def __init__(self, conditions: Iterable[tree.Truth]) -> None:
        self._general: list[int] = []
        self._by_key: dict[ObjectKey, list[int]] = {}
        for number, condition in enumerate(conditions):
            keys = keys_of(condition)
            for key in keys or ():
                self._by_key.setdefault(key, []).append(number)
            if keys is None:
                self._general.append(number)

    def of(self, owner: str | None, name: str | None, base: tuple[str | None, str | None] | None = None) -> list[int]:
        """Return the numbers of the conditions that can be true for an object, in order. base: its table, for DDL."""
        found = set(self._general)
        for of, (own, called) in (("object", (owner, name)), ("base", base or (None, None))):
            for key in (ObjectKey(of, own, called), ObjectKey(of, own, None), ObjectKey(of, None, called)):
                if key.owner is not None or key.name is not None:
                    found.update(self._by_key.get(key, ()))
        return sorted(found)
