"""Pass secrets to another program in files that only their owner may read and that are removed after the block."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def private_file(text: str, suffix: str) -> Iterator[Path]:
    """Yield the path of a new file with that text and mode 0600 in the temporary folder."""
    descriptor, name = tempfile.mkstemp(prefix="ddlrepl-", suffix=suffix)
    path = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        yield path
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def properties_file(
    properties: Mapping[str, str], users_file: str | None, environment: Mapping[str, str] = os.environ
) -> Iterator[str | None]:
    """Yield a file for `spark-submit --properties-file`: the user's properties (or spark-defaults.conf), then ours.

    Spark properties may hold credentials of an object store, and a command line is visible to everyone. Without
    properties of our own it yields the user's file as it is. environment: of the spark-submit that reads it.
    """
    if not properties:
        yield users_file
        return
    base = users_file or _defaults(environment)
    text = Path(base).read_text(encoding="utf-8") + "\n" if base else ""
    with private_file(text + "".join(_line(*item) for item in properties.items()), ".properties") as path:
        yield str(path)


def _defaults(environment: Mapping[str, str]) -> Path | None:
    """Return the file that spark-submit itself would read without this option; None: there is none."""
    home = environment.get("SPARK_HOME")
    folder = environment.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else None)
    file = Path(folder) / "spark-defaults.conf" if folder else None
    return file if file and file.is_file() else None


def _line(name: str, value: str) -> str:
    """Return one line of a Java properties file."""
    escaped = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"{name}={escaped}\n"
