"""This module has what a location says of a REST server: where it is, and how to log in there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote_plus

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
_SECRETS = ("token", "credential", "client.secret-access-key", "client.session-token")
"""Those of PyIceberg's properties that nobody may see; of a credential the part behind its first colon."""
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
        if "credential" in said:  # PyIceberg would take it as well, and warn of it
            said.setdefault("oauth2-server-uri", f"{said['uri'].rstrip('/')}/v1/oauth/tokens")
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

    def redacted(self, text: str) -> str:
        """Return what a server or its client says as one line, with *** in place of each secret of the login."""
        found = " ".join(redact(text).split())
        for name in _SECRETS:
            said = self.properties.get(name, "")
            secret = said.partition(":")[2] or said if name == "credential" else said
            for spelled in {secret, quote_plus(secret)} - {""}:
                found = found.replace(spelled, "***")
        return found[:500]
