"""What follows from columns alone is found once for all tables that have them: equal ones share one tuple (stored)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from airflow_ddlrepl.model.table import Column

Found = TypeVar("Found")
MOST = 1024


class SharedByColumns(Generic[Found]):
    """This is what was found of columns, which are told apart as objects: equal ones may differ in what they say."""

    def __init__(self) -> None:
        self._known: dict[Any, tuple[tuple[tuple[Column, ...], ...], Found]] = {}

    def of(self, columns: tuple[tuple[Column, ...], ...], also: Any, find: Callable[[], Found]) -> Found:
        """Return what `find` returns, or has returned for these columns. also: what else it depends on, hashable."""
        key = (*map(id, columns), also)
        known = self._known.get(key)
        if known is not None and all(one is other for one, other in zip(known[0], columns, strict=True)):
            return known[1]
        found = find()
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[key] = columns, found
        return found
