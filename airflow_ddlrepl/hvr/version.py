"""A version of HVR, such as 6.2.5/2: which parameters of AdaptDDL it does not have yet."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field

HvrVersion = Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+/\d+$")]
SINCE = {"on_add_column_with_default": "6.2.5/2"}
"""The version of HVR that a policy came with."""
ISOLATED_SINCE = "6.2.5/0"
"""The version of HVR that the refresh option `-inow` came with."""


def is_older(version: str, other: str) -> bool:
    """Return whether a version of HVR is older than another one."""
    return _numbers(version) < _numbers(other)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]
