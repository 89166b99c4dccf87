"""A name that nobody knows may be a typing error: the message suggests the nearest one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str:
    """Return `did you mean …?` with the known name that a word is most like; empty when it is like none."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean {close[0]}?" if close else ""


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return `did you mean …?`; or all known names, when the word is like none of them."""
    names = list(known)
    return nearest(word, names) or f"known: {', '.join(names)}"
