"""Stop Python importing out of Spark's archives: pyspark, py4j and a jar, which Spark puts first on Python's path.

Python compiles what it imports from an archive each time, a second for pyspark. And until version 3.12 it lists every
archive that it has looked into again before each task of Spark's, a third of a second.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from zipimport import zipimporter

NAMES = ("pyspark", "py4j-", "spark-core_")


def forget_archives() -> None:
    """Stop Python listing pyspark's archives before each task; it looks into them when it imports something."""
    for place, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter) and _is_sparks(finder.archive):
            del sys.path_importer_cache[place]


def prefer_installed() -> None:
    """Import pyspark from the files that are installed, when the archives are of the same installation."""
    files = [place for place in sys.path if not _is_sparks(place)]
    found = PathFinder.find_spec("pyspark", files)
    home = os.path.dirname(found.origin) + os.sep if found and found.origin else None
    if home and all(place.startswith(home) for place in sys.path if _is_sparks(place)):
        sys.path[:] = files
        forget_archives()


def _is_sparks(place: str) -> bool:
    return place.endswith((".zip", ".jar")) and os.path.basename(place).startswith(NAMES)
