"""This module has what a location says of a REST server: where it is, and how to log in there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_ddlrepl.config.sections.location import redact

_PROPERTIES = {
    "uri": "uri",
    "rest_warehouse": "warehouse",
    "rest_token": "token",
    "credential": "credential",
    "scope": "scope",
    "oauth2_uri": "oauth2-server-uri",
    "signing_name": "rest.signing-name",
    "signing_region": "rest.signing-region",
}
"""PyIceberg's names of the settings of a location."""
SETTINGS = tuple(_PROPERTIES)
"""Settings of a catalog that a REST server has."""


@dataclass(frozen=True, slots=True)
class RestServer:
    """A REST server has the catalog that readers use. said: PyIceberg's properties of it; secrets are among them."""

    said: tuple[tuple[str, str], ...] = field(repr=False)

    @classmethod
    def of(cls, settings: Mapping[str, str], login: Mapping[str, str]) -> RestServer:
        """Return the server that a location names. login: of the object store, which signs requests to Amazon, too."""
        said = {_PROPERTIES[name]: value for name, value in settings.items() if name in _PROPERTIES}
        if "signing_name" in settings:
            said |= {"rest.sigv4-enabled": "true", **{name: value for name, value in login.items() if value}}
        return cls(tuple(sorted(said.items())))

    @property
    def properties(self) -> dict[str, str]:
        """Return PyIceberg's properties of the server."""
        return dict(self.said)

    @property
    def name(self) -> str:
        """Return what tells the catalog from others, for people: the server, and which of its warehouses it is."""
        return redact(" ".join(self.properties[name] for name in ("uri", "warehouse") if name in self.properties))
