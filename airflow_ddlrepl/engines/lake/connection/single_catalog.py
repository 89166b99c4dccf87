"""This module has what a location says of a catalog that changes one table at a time: Hadoop, Hive or Glue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.errors import ConfigError

OF_FOLDERS = "ddlrepl_"
"""So the names of our folders begin in a warehouse, where folders of a Hadoop catalog are namespaces."""
SETTINGS: Mapping[str, Mapping[str, str]] = {
    "hadoop": {},
    "hive": {"uri": "uri", "hive_user": "ugi"},
    "glue": {
        "glue_endpoint": "glue.endpoint",
        "glue_catalog": "glue.id",
        "region": "client.region",
        "access_key": "client.access-key-id",
        "secret": "client.secret-access-key",
        "token": "client.session-token",
    },
}
"""PyIceberg's names of the settings of a location, by the kind of the catalog."""
_OF_LOGIN = ("access_key", "secret", "token")
_SECRETS = ("client.secret-access-key", "client.session-token")
"""Those of PyIceberg's properties that nobody may see."""


@dataclass(frozen=True, slots=True)
class SingleCatalog:
    """A single catalog has the pointers that readers use, and changes one of them at a time.

    kind: hadoop, hive or glue. name: what tells it from others, for people. said: PyIceberg's properties of it; secrets
    are among them.
    """

    kind: str
    name: str
    said: tuple[tuple[str, str], ...] = field(repr=False, default=())

    @classmethod
    def of(cls, kind: str, settings: Mapping[str, str], login: Mapping[str, str], warehouse: str) -> SingleCatalog:
        """Return the catalog that a location names. login: of the object store, which is that to Glue, too.

        Raises ConfigError CFG-104 for a Hadoop catalog in an object store, and a metastore that is not named.
        """
        names = SETTINGS[kind]
        if kind == "hadoop" and not warehouse.startswith("/"):
            raise ConfigError(
                "a Hadoop catalog is not written to in an object store, where two writers may replace each other's"
                " files",
                code="CFG-104",
                hint="let the warehouse be a folder of a disk, or take another catalog (docs/lakehouse.md)",
            )
        if kind == "hive" and not settings.get("uri", "").startswith("thrift://"):
            raise ConfigError(
                "the location of a lake whose catalog a Hive metastore has names its `uri`",
                code="CFG-104",
                hint="write uri=thrift://host:9083; several ones are separated by commas",
            )
        said = {names[name]: value for name, value in settings.items() if name in names}
        if kind == "glue":
            said = {**{name: value for name, value in login.items() if value}, **said}
        shown = [settings[name] for name in names if name in settings and name not in _OF_LOGIN]
        where = [warehouse] if kind == "hadoop" else shown
        return cls(kind, redact(" ".join([kind, *where])), tuple(sorted(said.items())))

    @property
    def properties(self) -> dict[str, str]:
        """Return PyIceberg's properties of the catalog."""
        return dict(self.said)

    def redacted(self, error: object) -> str:
        """Return what a catalog or its client says as one line, with *** in place of each secret of the login."""
        found = " ".join(redact(str(error)).split())
        for name in _SECRETS:
            if secret := self.properties.get(name, ""):
                found = found.replace(secret, "***")
        return found[:500]
