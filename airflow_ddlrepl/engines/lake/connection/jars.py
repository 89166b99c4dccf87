"""This module has the jars that Spark needs for a lake: fetched once by Spark's own resolver, checked, and retained.

Where they are retained no network is needed. A person may put them there by hand.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from airflow_ddlrepl import java
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.folders import private_folder

FOLDER = "DDLREPL_JARS"
"""Variable: the folder with the jars, instead of the one in the user's cache."""
_PROPERTIES_FILE = "DDLREPL_SPARK_PROPERTIES_FILE"
_SECONDS = 600
_ATTEMPTS = 3
_IN_SPARK = "org.slf4j:slf4j-api"


@dataclass(frozen=True, slots=True)
class Jar:
    """A jar is a file of a pinned version. coordinates: group, artifact and version, as Spark's resolver takes them."""

    coordinates: str
    sha256: str

    @property
    def file(self) -> str:
        """Return the name of the file."""
        _, artifact, version = self.coordinates.split(":")
        return f"{artifact}-{version}.jar"

    @property
    def resolved_file(self) -> str:
        """Return the name that Spark's resolver gives to the file."""
        return f"{self.coordinates.partition(':')[0]}_{self.file}"


JARS = (
    Jar(
        "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
        "3123c3798af642dd537230923548e013ef41cc28b6626e5225808cf5670a0f82",
    ),
    Jar("org.xerial:sqlite-jdbc:3.50.3.0", "a3f53a2aa15ae9425a9e793bbe9c8e5288febeb4b65ef5c1a4e80d4c2045cf08"),
    Jar("org.postgresql:postgresql:42.7.14", "73914527305a40cce504b0d3d90b23caf565136912d607ae8ae7c5895512332c"),
)

OF_STORES = (
    Jar(
        "org.apache.iceberg:iceberg-aws-bundle:1.12.0",
        "dd7e49ffa4ac9b215bed846581991259e3aec9bb2fa08d6cec029c46cd66d957",
    ),
)
"""The jars that a warehouse in an object store needs besides."""


def jars(are_for_store: bool = False) -> list[Path]:
    """Return the jars, fetched where they are missing. are_for_store: the warehouse is in an object store.

    Raises ConfigError CFG-413 when they can't be fetched, or a file is not the one that its name says.
    """
    wanted = (*JARS, *OF_STORES) if are_for_store else JARS
    if missing := _missing(wanted):
        _fetch(missing)
    return [jar_folder() / jar.file for jar in wanted]


def _missing(wanted: Sequence[Jar]) -> list[Jar]:
    """Return the jars that are not in the folder. Raises ConfigError CFG-413 for a file that is another one."""
    found = {jar: jar_folder() / jar.file for jar in wanted}
    present = {jar: path for jar, path in found.items() if path.is_file()}
    for jar, path in present.items():
        if _sha256(path, path.stat().st_mtime_ns) != jar.sha256:
            why = f"{path} is not {jar.coordinates}: its checksum is another one"
            raise _unusable(why, wanted, f"remove {path}; or ")
    return [jar for jar in wanted if jar not in present]


def jar_folder() -> Path:
    """Return the folder of the jars: the one that a variable names, else one in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(os.environ.get(FOLDER) or Path(cache) / "ddlrepl" / "jars")


def _fetch(wanted: Sequence[Jar]) -> None:
    """Have Spark's resolver fetch the jars, and move them into the folder when all are there and right."""
    folder = jar_folder()
    try:
        private_folder(folder)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as beside:
            resolved = Path(beside) / "jars"
            for _ in range(_ATTEMPTS):
                said = _resolve(Path(beside), wanted)
                if all((resolved / jar.resolved_file).is_file() for jar in wanted):
                    break
            for jar in wanted:
                path = resolved / jar.resolved_file
                if not path.is_file():
                    raise _unusable(f"Spark's resolver does not get {jar.coordinates}: {_reason(said)}", wanted)
                if _sha256(path, path.stat().st_mtime_ns) != jar.sha256:
                    raise _unusable(f"what Spark's resolver got as {jar.coordinates} has another checksum", wanted)
            for jar in wanted:
                (resolved / jar.resolved_file).replace(folder / jar.file)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unusable(f"Iceberg's jars can't be fetched into {folder}: {error}", wanted) from None


def _resolve(beside: Path, wanted: Sequence[Jar]) -> str:
    """Run spark-submit for its resolver alone, with an app that does nothing; return what it writes."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise _unusable("pyspark is not installed, whose resolver fetches Iceberg's jars", wanted)
    home = Path(spec.origin).parent
    app = beside / "nothing.py"
    app.touch()
    settings = ["--conf", f"spark.jars.ivy={beside}", "--master", "local[1]"]
    if users_file := os.environ.get(_PROPERTIES_FILE):
        settings += ["--properties-file", users_file]
    packages = ["--packages", ",".join(jar.coordinates for jar in wanted), "--exclude-packages", _IN_SPARK]
    environment = {**os.environ, "JAVA_HOME": java.home(), "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment.pop("PYSPARK_GATEWAY_PORT", None)
    command = [str(home / "bin" / "spark-submit"), *settings, *packages, str(app)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False, env=environment)
    return f"{run.stdout}\n{run.stderr}"


def _reason(said: str) -> str:
    """Return the line of the resolver's report that says most."""
    lines = [line.strip(" :") for line in said.splitlines()]
    words = ("not found", "Server access", "Exception", "ERROR", "refused")
    return next((line for word in words for line in lines if word in line), "it says nothing")


@lru_cache
def _sha256(path: Path, _changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unusable(why: str, wanted: Sequence[Jar], repair: str = "") -> ConfigError:
    names = " and ".join(f"{jar.file} ({jar.coordinates})" for jar in wanted)
    return ConfigError(
        why,
        code="CFG-413",
        hint=f"{repair}run `ddlrepl doctor` once where there is a network, or put {names} into {jar_folder()};"
        f" {FOLDER} names another folder",
    )
