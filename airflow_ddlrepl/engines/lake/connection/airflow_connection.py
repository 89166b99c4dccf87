"""This module reads a connection of the type that Airflow's provider for Iceberg has as the location of a lake.

Its host is the URI of a catalog, its login and password are a client's id and secret, and its extra has PyIceberg's
properties. What only the product needs is in the extra, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import SplitResult, quote, unquote, urlencode, urlsplit

from airflow_ddlrepl.errors import ConfigError

_NAMES = {
    "s3.endpoint": "endpoint",
    "s3.region": "region",
    "client.region": "region",
    "s3.access-key-id": "access_key",
    "s3.secret-access-key": "secret",
    "s3.session-token": "token",
}
_OF_REST = {
    "token": "rest_token",
    "oauth2-server-uri": "oauth2_uri",
    "rest.signing-name": "signing_name",
    "rest.signing-region": "signing_region",
}
_OF_GLUE = {
    "glue.endpoint": "glue_endpoint",
    "glue.id": "glue_catalog",
    "glue.region": "region",
    **{f"{of}.access-key-id": "access_key" for of in ("glue", "client")},
    **{f"{of}.secret-access-key": "secret" for of in ("glue", "client")},
    **{f"{of}.session-token": "token" for of in ("glue", "client")},
}
"""The settings of a location, by the names that PyIceberg has for them."""
_OF_KIND = {"rest": _OF_REST, "glue": _OF_GLUE}
_NEEDLESS = frozenset(["rest.sigv4-enabled", "py-io-impl", "glue.skip-archive"])
"""Properties of PyIceberg that follow from others in a location."""
STATE = "ddlrepl_state"
"""Where the product's own tables are, if a server has the catalog: an SQLite file, or a database in PostgreSQL."""


def location_of_connection(parts: SplitResult, said: Mapping[str, str]) -> str:
    """Return the location that a connection means. Raises ConfigError CFG-104.

    parts, said: of the URL of the connection, whose host is the setting `connection_uri`; one to Glue needs no host.
    """
    kind, uri, name = (
        said.get("type", "rest"),
        said.get("connection_uri", "").rstrip("/"),
        said.get("connection", "glue"),
    )
    own = ("type", "connection_uri", "connection", STATE, *_NEEDLESS)
    names = {**_NAMES, **_OF_KIND.get(kind, {})}
    settings = dict[str, str]()
    for key, value in said.items():
        if key not in own and settings.setdefault(names.get(key, key), value) != value:
            raise ConfigError(
                f"connection {name!r} says the {names[key]} of a lake twice, and differently",
                code="CFG-104",
                hint=f"remove {key} from its extra, or make the other one equal",
            )
    if "warehouse" in settings:
        settings["warehouse"] = settings["warehouse"].removeprefix("file://")
    if kind == "sql":
        return _location(uri, {"name": name, **settings})
    if kind not in _OF_KIND:
        return _location("sqlite:///", {"catalog": kind})
    if not said.get(STATE):
        raise ConfigError(
            f"connection {name!r} names a catalog, and not where the channel stores what it knows of the lake",
            code="CFG-104",
            hint=f'add "{STATE}" to its extra: the path of an SQLite file, which is made, or'
            " postgresql://user@host:5432/database (docs/lakehouse.md)",
        )
    if kind == "glue":
        return _location(said[STATE], {**settings, "catalog": kind})
    there = settings.pop("warehouse", "")
    if there:
        settings["rest_warehouse"] = there
    folder = settings.pop("ddlrepl_warehouse", there if there.startswith(("/", "s3://")) else "")
    login = [unquote(part) for part in (parts.username, parts.password) if part]
    credential = {"credential": ":".join(login)} if len(login) > 1 else {}
    found = {**settings, **credential, **({"warehouse": folder} if folder else {})}
    return _location(said[STATE], {**found, "catalog": "rest", "uri": uri})


def _location(database: str, settings: Mapping[str, str]) -> str:
    """Return a location with this database: a URL of SQLAlchemy's, or a path."""
    parts = urlsplit(database)
    if parts.scheme in ("", "sqlite"):
        place = quote(parts.path[1:] if parts.scheme else parts.path)
    else:
        place = f"{parts.netloc}{parts.path}"
    return f"iceberg://{place}?{urlencode(settings)}"
