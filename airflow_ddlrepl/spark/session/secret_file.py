"""Pass secrets to another program in files that only their owner may read and that end with this process."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "ddlrepl-secret-"
_OF_PROCESS = re.compile(re.escape(PREFIX) + r"(\d+)-")


@contextmanager
def private_file(text: str, suffix: str) -> Iterator[Path]:
    """Yield the path of a new file with that text and mode 0600, which no other user's process can open.

    On Linux the file is in memory, as an open file of this process: it is gone when this process ends, also when it is
    killed. Elsewhere it is in the temporary folder; a killed process leaves it to the next one that makes such a file.
    suffix: only of a file in the temporary folder.
    """
    opened = _in_memory(text)
    if opened is not None:
        try:
            yield Path(f"/proc/{os.getpid()}/fd/{opened}")
        finally:
            os.close(opened)
        return
    _remove_orphans()
    descriptor, name = tempfile.mkstemp(prefix=f"{PREFIX}{os.getpid()}-", suffix=suffix)
    path = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        yield path
    finally:
        path.unlink(missing_ok=True)


def _in_memory(text: str) -> int | None:
    """Return the descriptor of a file in memory; None where other processes can't open one by a path."""
    if not hasattr(os, "memfd_create"):
        return None
    descriptor = os.memfd_create("ddlrepl", os.MFD_CLOEXEC)
    os.fchmod(descriptor, 0o600)
    with os.fdopen(os.dup(descriptor), "w", encoding="utf-8") as file:
        file.write(text)
    if os.access(f"/proc/{os.getpid()}/fd/{descriptor}", os.R_OK):
        return descriptor
    os.close(descriptor)
    return None


def _remove_orphans() -> None:
    """Remove this user's secret files whose processes have ended: a process that is killed can't do it itself."""
    for file in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        named = _OF_PROCESS.match(file.name)
        with suppress(OSError):  # another user's, or gone by now
            if named and file.lstat().st_uid == os.getuid() and not _is_running(int(named[1])):
                file.unlink()


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


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
