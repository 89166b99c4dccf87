"""This module removes what runs of a channel have left behind: staged files, windows, and the files of these."""

from __future__ import annotations

from airflow_ddlrepl.engines.lake.catalog.entries import forget_namespace, namespaces
from airflow_ddlrepl.engines.lake.catalog.publishing import end_open_intent
from airflow_ddlrepl.engines.lake.catalog.written import remove_files, windows
from airflow_ddlrepl.engines.lake.connection.database import is_there, writing
from airflow_ddlrepl.engines.lake.connection.location import location_of


def sweep_runs(location: str, mark: str, token: int) -> None:
    """Remove what runs of lower tokens have staged, in files and as entries of our catalog. mark: of the channel."""
    place, of_windows = location_of(location), f"w_{mark}_"
    sweep_files(location, f"s_{mark}_", token)
    if not is_there(location):
        return
    end_open_intent(location, mark)
    with writing(location) as connection:
        for name in namespaces(connection, place.spark_catalog):
            if _is_earlier(name, of_windows, token):
                forget_namespace(connection, place.spark_catalog, name)
        found = [name for name in windows(connection, of_windows) if _is_earlier(name, of_windows, token)]
        remove_files(connection, found, place.files)


def sweep_files(location: str, begin: str, number: int) -> None:
    """Remove staged files of lower numbers. begin: how their names do, in front of the number."""
    place = location_of(location)
    for left in place.files.inside(place.staging_folder):
        name = left.rpartition("/")[2]
        if name.startswith(begin) and int(name.removeprefix(begin).partition("_")[0]) < number:
            place.files.remove(left)


def _is_earlier(window: str, begin: str, token: int) -> bool:
    """Is a window, by its name or its namespace's, one of the channel's that a run of a lower token has begun?"""
    number = window.removeprefix(begin)[1:].partition("_")[0]
    return number.isdigit() and int(number) < token
