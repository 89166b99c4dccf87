"""Split the section `transform`: entries with a Python function are ours, and HVR's own transformations are refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SAP_UNPACK = "SapUnpack"
NOT_TOGETHER = (
    "AdaptDDL and Transform SapUnpack can't be used together: the columns of a packed table don't tell those of the"
    " tables that it unpacks into"
)
INSTEAD = (
    "`columns` and `function`, a Python function that gives values (docs/transform.md); column_properties (other names,"
    " or absent), table_properties, restrict, and `capture: {no_truncate: true}`"
)


def split_transforms(entries: Any) -> tuple[list[Any], tuple[str, ...]]:
    """Return the entries that name a Python function, as they are, and HVR's transformations as text."""
    items = list(entries) if isinstance(entries, list | tuple) else [entries] if entries else []
    known = [one for one in items if not isinstance(one, str) and not _is_text(one)]
    return known, tuple(_text(one) for one in items if one not in known)


def _is_text(one: Any) -> bool:
    return not hasattr(one, "function") and not (isinstance(one, dict) and one.keys() & {"function", "columns"})


def _text(one: Any) -> str:
    return ", ".join(f"{k}={v}" for k, v in one.items()) if isinstance(one, dict) else str(one)


def refuse_hvr_transforms(transforms: Sequence[str], *, adapts: bool) -> None:
    """Raise ValueError when the channel names any of HVR's transformations.

    adapts: the channel has AdaptDDL actions, which exclude SapUnpack.
    """
    names = [name.partition("=")[0].strip() for one in transforms for name in one.split(",")]
    unpacks = [name for name in names if name.replace("_", "").lower() == SAP_UNPACK.lower()]
    if unpacks and adapts:
        raise ValueError(f"{NOT_TOGETHER}; take one of the two out")
    if names:
        raise ValueError(f"there is no transformation {', '.join(names)}; what there is instead: {INSTEAD}")
