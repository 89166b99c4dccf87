"""Passwords of a location that a person typed become environment variables: no channel file holds one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import quote

from airflow_ddlrepl.notation.environment import expand

_URL = re.compile(r"^([A-Za-z][A-Za-z0-9+.:-]*://)([^/?]*)(.*)$", re.DOTALL)
_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_SECRET = re.compile(r"(?i)([?&](password|passwd|pwd|secret|token|sslpassword)=)([^&]+)")


@dataclass(frozen=True, slots=True)
class Location:
    """A location as it stands in the file. variables: what its `${…}` stand for, where a person typed the value."""

    text: str
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)


def without_secrets(location: str, channel: str, place: str, password: str = "") -> Location:
    """Return a location with `${CHANNEL_PLACE_PASSWORD}` in place of each password, as it is written in the file.

    password: for a URL that has none; empty: none is needed. A password that is a variable already stays.
    """
    found = _URL.match(location.strip())
    if found is None:
        return Location(location.strip())
    scheme, authority, rest = found.groups()
    login, at, hosts = authority.rpartition("@")
    user, colon, typed = login.partition(":")
    variables: dict[str, str] = {}
    stem = re.sub(r"[^A-Za-z0-9]+", "_", f"{channel}_{place}").upper()

    def hidden(value: str, name: str) -> str:
        if _REFERENCE.fullmatch(value):
            return value
        variables[f"{stem}_{name}"] = expand(value)
        return f"${{{stem}_{name}}}"

    if password and not colon:
        colon, typed = ":", quote(password, safe="")
    if typed:
        login = f"{user}:{hidden(typed, 'PASSWORD')}"
    rest = _SECRET.sub(lambda one: one.group(1) + hidden(one.group(3), one.group(2).upper()), rest)
    return Location(f"{scheme}{login}{at}{hosts}{rest}", variables)


def lacks_password(location: str) -> bool:
    """Return whether a URL names a user and no password: it may have to be asked for."""
    found = _URL.match(location.strip())
    if found is None or _SECRET.search(found.group(3)):
        return False
    login, at, _ = found.group(2).rpartition("@")
    return bool(at and login) and ":" not in login


@contextmanager
def known(*locations: Location) -> Iterator[None]:
    """Let this process have the variables of these locations inside the block."""
    variables = {name: value for one in locations for name, value in one.variables.items()}
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
