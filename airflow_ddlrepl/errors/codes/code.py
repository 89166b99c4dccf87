"""This module says what a listed code is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """A code names one meaning for good: people look it up, search for it and count it."""

    text: str
    """Such as SRC-101; its first three letters are its family."""
    cause: str
    """What has happened, whatever the message of one case adds."""
    remedy: str
    """What a person does about it, whatever the hint of one case adds."""
