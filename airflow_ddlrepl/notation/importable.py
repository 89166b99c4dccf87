"""A name `module:name` in a channel file is something of the user's that Python can import."""

from __future__ import annotations


def importable(value: str, example: str) -> str:
    """Return the name; raise ValueError when it is no `module:name`. Nothing is imported."""
    module, colon, name = value.partition(":")
    if not (colon and name.isidentifier() and all(part.isidentifier() for part in module.split("."))):
        raise ValueError(f"{value!r} is no module:function, as in {example}")
    return value
