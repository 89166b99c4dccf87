"""`transform`: HVR's Transform actions. There is none: each is refused, and told what there is instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

SAP_UNPACK = "SapUnpack"
NOT_TOGETHER = (
    "AdaptDDL and Transform SapUnpack can't be used together: the columns of a packed table don't tell those of the"
    " tables that it unpacks into"
)
INSTEAD = (
    "column_properties (other names, or absent), table_properties, restrict, and `capture: {no_truncate: true}`;"
    " values are never changed on the way: a view at the target can"
)


def _texts(value: Any) -> Any:
    items = value if isinstance(value, list) else [value]
    return tuple(", ".join(f"{k}={v}" for k, v in one.items()) if isinstance(one, dict) else str(one) for one in items)


Transforms = Annotated[
    tuple[str, ...], BeforeValidator(_texts), WithJsonSchema({"type": "array", "items": {"type": "string"}})
]


def refuse(transforms: Sequence[str], *, adapts: bool) -> None:
    """adapts: the channel has AdaptDDL actions. Raises ValueError when anything is asked for."""
    asked = [name.partition("=")[0].strip() for one in transforms for name in one.split(",")]
    unpacks = [name for name in asked if name.replace("_", "").lower() == SAP_UNPACK.lower()]
    if unpacks and adapts:
        raise ValueError(f"{NOT_TOGETHER}; take one of the two out")
    if asked:
        raise ValueError(f"there is no transformation {', '.join(asked)}; what there is instead: {INSTEAD}")
