"""Make the class archive with which a local Spark starts with a third less work; `python -m` this module makes it once.

With the location of a target behind it, it makes the one for channels with such a target: its engine's jars are in it.
Java that is given an archive which does not fit starts without any, also without its own, and takes seconds longer. So
another archive is looked for, and none is found, once Java, Spark or a jar has changed or is in another place.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from airflow_ddlrepl import java
from airflow_ddlrepl.folders import private_folder
from airflow_ddlrepl.spark.session.installation import inspect_installation

WARM_UP = Path(__file__).parents[1] / "execute" / "warm_up.py"
PRIVATE_UMASK = 0o077
JARS = "spark.jars"
OPTIONS = "spark.driver.extraJavaOptions"
CLASS_PATH = "spark.driver.extraClassPath"


def listed(value: str) -> tuple[str, ...]:
    """Return the parts of a property that is a list."""
    return tuple(part for part in value.split(",") if part)


def by_class_path(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a local Spark with its jars on Java's class path, where an archive of them was made.

    Java archives no classes of jars that Spark adds by itself. Who has set the class path or Java's options keeps them.
    """
    jars = listed(properties.get(JARS, ""))
    home = java.home()
    is_free = CLASS_PATH not in properties and properties.get(OPTIONS) == java_options(home)
    if not (jars and is_free and archives(home, jars)[1].is_file()):
        return dict(properties)
    return {**_on_class_path(properties), OPTIONS: java_options(home, jars)}


def _on_class_path(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties with their jars, if there are any, on Java's class path."""
    rest = {name: value for name, value in properties.items() if name != JARS}
    jars = listed(properties.get(JARS, ""))
    return {**rest, CLASS_PATH: os.pathsep.join(jars)} if jars else rest


def java_options(java_home: str, jars: Sequence[str] = ()) -> str:
    """Return spark.driver.extraJavaOptions for a local Spark, with the archive when it was made.

    jars: those of its class path beside Spark's own.
    """
    base, top = archives(java_home, jars)
    return f"{java.LIGHT} -XX:SharedArchiveFile={base}:{top} -Xshare:auto" if top.is_file() else java.LIGHT


def launcher_options(java_home: str) -> str:
    """Return the options for the Java that says with which command Spark's is started, a third of a second of work."""
    base, _ = archives(java_home)
    return f"{java.LIGHT} -XX:SharedArchiveFile={base} -Xshare:auto" if base.is_file() else java.LIGHT


def archives(java_home: str, jars: Sequence[str] = ()) -> tuple[Path, Path]:
    """Return the files for the archived classes of that Java, and for those of the installed Spark and the jars."""
    folder, of_java = java.state_folder(), Path(java_home, "lib", "modules")
    of_spark = [of_java, Path(str(inspect_installation().home), "jars"), *map(Path, jars)]
    return folder / f"classes-{java.digest([of_java])}-java.jsa", folder / f"classes-{java.digest(of_spark)}-spark.jsa"


def prepare(location: str = "") -> Path | None:
    """Make the archive (140 to 190 MB, a minute at most) unless it is there; None when this Java can't have one.

    location: of a target whose engine's jars are in it, too. Raises ConfigError for one that can't be.
    """
    from airflow_ddlrepl.spark.session.settings import SparkSettings

    of_engine = SparkSettings(targets=(location,)).of_engines() if location else {}
    jars = listed(of_engine.get(JARS, ""))
    home = java.home()
    base, top = archives(home, jars)
    if top.is_file():
        return top
    private_folder(base.parent)
    fresh = top.with_suffix(f".{os.getpid()}")
    dump = [f"{home}/bin/java", "-XX:+UseSerialGC", "-Xshare:dump", f"-XX:SharedArchiveFile={base}"]
    options = f"{java.LIGHT} -XX:SharedArchiveFile={base} -XX:ArchiveClassesAtExit={fresh}"
    try:
        if not base.is_file():
            subprocess.run(dump, check=True, capture_output=True, timeout=120, umask=PRIVATE_UMASK)
        submit = _submit({**_on_class_path(of_engine), OPTIONS: options}, location)
        subprocess.run(
            submit, check=True, capture_output=True, timeout=300, env=_environment(home), umask=PRIVATE_UMASK
        )
        fresh.replace(top)
    except (OSError, subprocess.SubprocessError):
        fresh.unlink(missing_ok=True)
        return None
    return top


def _submit(properties: Mapping[str, str], location: str) -> list[str]:
    """Return the command of a small job through spark-submit, which loads the classes that every app loads.

    location: of a target whose windows' classes are loaded, too; empty: of none.
    """
    home = inspect_installation().home
    python = {"spark.pyspark.python": sys.executable, "spark.pyspark.driver.python": sys.executable}
    arguments = [word for name, value in {**properties, **python}.items() for word in ("--conf", f"{name}={value}")]
    return [f"{home}/bin/spark-submit", "--master", "local[1]", *arguments, str(WARM_UP), *filter(None, [location])]


def _environment(home: str) -> dict[str, str]:
    spark_home = str(inspect_installation().home)
    return {**os.environ, "JAVA_HOME": home, "SPARK_HOME": spark_home, "SPARK_LOCAL_IP": "127.0.0.1"}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("location", nargs="?", default="", help="of a target: its engine's jars are in it, too")
    made = prepare(parser.parse_args().location)
    print(f"class archive: {made}" if made else "no class archive: this Java can't make one; Spark starts without")
