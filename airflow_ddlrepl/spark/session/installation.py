"""Check that the installed Spark is of one version: pyspark and pyspark-client write the same files.

Imports no pyspark: a mixed installation may fail to import.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import re
import sys
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path


@dataclass(frozen=True)
class Installation:
    """An installation is the versions of the installed Spark by each source; None where the source does not exist.

    altered: files of pyspark that differ from its own.
    """

    home: Path | None
    pyspark: str | None
    client: str | None
    files: str | None
    jars: str | None
    altered: tuple[str, ...] = ()

    @property
    def problem(self) -> str:
        """Return what is wrong; empty when nothing is."""
        if self.pyspark is None or self.home is None:
            return "pyspark is not installed"
        versions = {
            "pyspark": self.pyspark,
            "pyspark-client": self.client,
            "its Python files": self.files,
            "its jars": self.jars,
        }
        differing = {what: version for what, version in versions.items() if version not in (None, self.pyspark)}
        if differing:
            others = ", ".join(f"{what} {version}" for what, version in differing.items())
            return f"pyspark {self.pyspark} is mixed with {others}: Python functions fail in Spark"
        if self.jars is None:
            return "pyspark has no jars: only the client's files are left"
        if self.altered:
            return f"{len(self.altered)} files of pyspark {self.pyspark} are not its own, e.g. {self.altered[0]}"
        return ""

    @property
    def fix(self) -> str:
        """Return the command that repairs the installation."""
        wanted = next((v for v in (self.jars, self.pyspark) if v), "4.1.3")
        return (
            f"{sys.executable} -m pip install --no-deps --force-reinstall "
            f"pyspark-client=={wanted} && {sys.executable} -m pip install --no-deps --force-reinstall pyspark=={wanted}"
        )


def spark_home() -> Path | None:
    """Return the folder of the installed pyspark package, which is a SPARK_HOME; None: there is none."""
    spec = importlib.util.find_spec("pyspark")
    return Path(spec.origin).parent if spec and spec.origin else None


def inspect_installation(*, with_files: bool = False) -> Installation:
    """Read the versions of the installed Spark (milliseconds).

    with_files: also compare every Python file with its checksum (about a second).
    """
    home = spark_home()
    package = _distribution("pyspark")
    client = _distribution("pyspark-client")
    return Installation(
        home,
        package.version if package else None,
        client.version if client else None,
        _version_file(home),
        _jar_version(home),
        _altered(package) if package and with_files else (),
    )


def _distribution(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _version_file(home: Path | None) -> str | None:
    file = home / "version.py" if home else None
    found = re.search(r"""__version__.*=\s*["']([^"']+)["']""", file.read_text()) if file and file.is_file() else None
    return found[1] if found else None


def _jar_version(home: Path | None) -> str | None:
    names = [jar.name for jar in (home / "jars").glob("spark-core_*.jar")] if home else []
    found = re.search(r"spark-core_[\d.]+-(.+)\.jar", names[0]) if names else None
    return found[1] if found else None


def _altered(package: Distribution) -> tuple[str, ...]:
    """Return the Python files that are missing, or whose checksum is not the one in the package's RECORD."""
    found = []
    for entry in package.files or ():
        if entry.suffix != ".py" or entry.hash is None:
            continue
        path = Path(str(package.locate_file(entry)))
        if not path.is_file() or _checksum(path, entry.hash.mode) != entry.hash.value:
            found.append(str(entry))
    return tuple(found)


def _checksum(path: Path, algorithm: str) -> str:
    digest = hashlib.new(algorithm, path.read_bytes()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
