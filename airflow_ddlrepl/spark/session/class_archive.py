"""Make the class archive with which a local Spark starts with a third less work; `python -m` this module makes it once.

Java ignores an archive that does not fit (another Java, other jars) and starts as without one.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from airflow_ddlrepl import java
from airflow_ddlrepl.folders import private_folder
from airflow_ddlrepl.spark.session.installation import inspect_installation

WARM_UP = Path(__file__).parents[1] / "execute" / "warm_up.py"
PRIVATE_UMASK = 0o077


def java_options(java_home: str) -> str:
    """Return spark.driver.extraJavaOptions for a local Spark, with the archive when it was made."""
    base, top = archives(java_home)
    return f"{java.LIGHT} -XX:SharedArchiveFile={base}:{top} -Xshare:auto" if top.is_file() else java.LIGHT


def launcher_options(java_home: str) -> str:
    """Return the options for the Java that says with which command Spark's is started, a third of a second of work."""
    base, _ = archives(java_home)
    return f"{java.LIGHT} -XX:SharedArchiveFile={base} -Xshare:auto" if base.is_file() else java.LIGHT


def archives(java_home: str) -> tuple[Path, Path]:
    """Return the files for the archived classes of that Java and, on top of them, of the installed Spark."""
    key = hashlib.sha256(f"{java_home} {inspect_installation().pyspark}".encode()).hexdigest()[:12]
    folder = java.state_folder()
    return folder / f"classes-{key}-java.jsa", folder / f"classes-{key}-spark.jsa"


def prepare() -> Path | None:
    """Make the archive (about 140 MB, half a minute) unless it is there; None when this Java can't have one."""
    home = java.home()
    base, top = archives(home)
    if top.is_file():
        return top
    private_folder(base.parent)
    fresh = top.with_suffix(f".{os.getpid()}")
    dump = [f"{home}/bin/java", "-XX:+UseSerialGC", "-Xshare:dump", f"-XX:SharedArchiveFile={base}"]
    options = f"{java.LIGHT} -XX:SharedArchiveFile={base} -XX:ArchiveClassesAtExit={fresh}"
    try:
        if not base.is_file():
            subprocess.run(dump, check=True, capture_output=True, timeout=120, umask=PRIVATE_UMASK)
        submit = _submit(options)
        subprocess.run(
            submit, check=True, capture_output=True, timeout=300, env=_environment(home), umask=PRIVATE_UMASK
        )
        fresh.replace(top)
    except (OSError, subprocess.SubprocessError):
        fresh.unlink(missing_ok=True)
        return None
    return top


def _submit(options: str) -> list[str]:
    """Return the command of a small job through spark-submit, which loads the classes that every app loads."""
    home = inspect_installation().home
    properties = {
        "spark.driver.extraJavaOptions": options,
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
    }
    arguments = [word for name, value in properties.items() for word in ("--conf", f"{name}={value}")]
    return [f"{home}/bin/spark-submit", "--master", "local[1]", *arguments, str(WARM_UP)]


def _environment(home: str) -> dict[str, str]:
    spark_home = str(inspect_installation().home)
    return {**os.environ, "JAVA_HOME": home, "SPARK_HOME": spark_home, "SPARK_LOCAL_IP": "127.0.0.1"}


if __name__ == "__main__":
    made = prepare()
    print(f"class archive: {made}" if made else "no class archive: this Java can't make one; Spark starts without")
