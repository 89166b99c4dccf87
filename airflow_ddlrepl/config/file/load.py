"""Read a channel file into a Channel; a file that is wrong is refused with all its mistakes, each with its line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from airflow_ddlrepl.config.file.yaml_document import Document, NotYaml, Place, parse
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.notation.environment import expand, problems, without_values
from airflow_ddlrepl.notation.suggestion import nearest

MAX_BYTES = 1 << 20
LOCATIONS = ("location", "repository")  # expanded when they are used: the Channel holds no password from a variable


def load_channel(path: str | Path) -> Channel:
    """Return the channel of a file. Raises ConfigError CFG-100 (no such file) or CFG-101 (`FILE:LINE: …`)."""
    folder = Path(path).absolute().parent
    return _with_absolute_paths(read_channel(_text(path), str(path), folder), folder)


def parameter_file_notes(path: str | Path) -> list[str]:
    """Return what needs attention in the parameter files that a channel file names, each with FILE:LINE:COLUMN."""
    found: list[str] = []
    data = _expanded(parse(_text(path)).data)
    with_parameter_files(data, Path(path).absolute().parent, lambda *_: None, lambda _, line: found.append(line))
    return found


def _text(path: str | Path) -> str:
    file = Path(path)
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}", code="CFG-100", hint="give the path of a channel file") from None
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: not UTF-8 text", code="CFG-101") from None
    if len(raw) > MAX_BYTES:
        raise ConfigError(f"{path}:1: larger than 1 MB: not a channel file", code="CFG-101")
    return text


def read_channel(text: str, name: str = "channel", folder: Path | None = None) -> Channel:
    """Return the channel that a YAML text describes.

    name: what errors call the file. folder: where parameter files are that it names.
    """
    try:
        document = parse(text)
    except NotYaml as error:
        raise _refused([(error.line, error.message)], name) from None
    if not isinstance(document.data, dict):
        raise _refused([(1, "must contain keys and values, at least channel, source and targets")], name)
    found = [(line, f"{_path_text(place)} is here for the second time") for place, line in document.duplicates]
    found += [
        (document.line(place), f"{_path_text(place)}: {problem}")
        for place, problem in _variable_problems(document.data, ())
    ]
    channel = None

    def refused(place: Place, problem: str) -> None:
        found.append((document.line(place), f"{_path_text(place)}: {problem}"))

    data = with_parameter_files(_expanded(document.data), folder, refused, lambda *_: None)
    try:
        channel = Channel.model_validate(data, strict=None)
    except ValidationError as error:
        found += [
            _problem(detail, document) for detail in _causes(error.errors(include_url=False, include_input=False))
        ]
    if found or channel is None:
        raise _refused([(line, without_values(message, text)) for line, message in found], name)
    return channel


def _refused(found: list[tuple[int, str]], name: str) -> ConfigError:
    lines = [f"{name}:{line}: {message}" for line, message in sorted(set(found))]
    head = "" if len(lines) == 1 else f"{len(lines)} problems\n"
    return ConfigError(
        head + "\n".join(lines), code="CFG-101", hint="ddlrepl schema prints every key that a channel file may hold"
    )


def _causes(details: list[ErrorDetails]) -> list[ErrorDetails]:
    """Return the errors without those that only follow from another: a list is "too short" when its items are wrong."""
    places = [tuple(detail["loc"]) for detail in details]
    inner = {place[:size] for place in places for size in range(len(place))}
    return [detail for detail in details if detail["type"] != "too_short" or tuple(detail["loc"]) not in inner]


def _problem(detail: ErrorDetails, document: Document) -> tuple[int, str]:
    place: Place = tuple(detail["loc"])
    kind = detail["type"]
    if kind == "extra_forbidden":
        known = _keys_at(place[:-1])
        other = f"; known here: {', '.join(sorted(known))}"
        return document.line(place), f"unknown key {_path_text(place)}{_suggestion(str(place[-1]), known) or other}"
    if kind == "missing":
        return document.line(place[:-1]), f"{_path_text(place)} is missing"
    message = (
        detail["msg"]
        .removeprefix("Value error, ")
        .replace("Input should be", "has to be")
        .replace("Tuple should", "should")
    )
    suggestion = ""
    if kind in ("enum", "literal_error"):
        value = _value_at(document.data, place)
        choices = [
            word.strip("' ") for word in detail.get("ctx", {}).get("expected", "").replace(" or ", ",").split(",")
        ]
        suggestion = _suggestion(str(value).upper(), choices) or _suggestion(str(value).lower(), choices)
    return document.line(place), f"{_path_text(place)}: {message}{suggestion}" if place else message


def _suggestion(word: str, known: list[str]) -> str:
    found = nearest(word, known)
    return f"; {found}" if found else ""


def _path_text(place: Place) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return text.lstrip(".")


def _keys_at(place: Place) -> list[str]:
    """Return the keys that are allowed in the section at this place of the file."""
    model: Any = Channel
    for part in place:
        if isinstance(part, int):
            continue
        fields = {field.alias or name: field.annotation for name, field in model.model_fields.items()}
        model = _section(fields.get(part))
        if model is None:
            return []
    return [field.alias or name for name, field in model.model_fields.items()]


def _section(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _section(part))), None)


def _value_at(data: Any, place: Place) -> Any:
    for part in place:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _variable_problems(data: Any, place: Place) -> Iterator[tuple[Place, str]]:
    if isinstance(data, str):
        yield from ((place, problem) for problem in problems(data))
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from _variable_problems(value, (*place, str(key)))
    elif isinstance(data, list):
        for number, value in enumerate(data):
            yield from _variable_problems(value, (*place, number))


def _expanded(data: Any, key: str = "") -> Any:
    if isinstance(data, str):
        return data if key in LOCATIONS or problems(data) else expand(data)
    if isinstance(data, dict):
        return {str(k): _expanded(v, str(k)) for k, v in data.items()}
    return [_expanded(item, key) for item in data] if isinstance(data, list) else data


def _with_absolute_paths(channel: Channel, folder: Path) -> Channel:
    """Return the channel with its relative paths resolved against the file's folder."""
    changes: dict[str, str] = {}
    path = channel.repository.removeprefix("sqlite:///")
    if channel.repository.startswith("sqlite:///") and not path.startswith(("/", "${", ":memory:")):
        changes["repository"] = f"sqlite:///{folder / Path(path).expanduser()}"
    if "://" not in channel.trail:
        changes["trail"] = str(folder / Path(channel.trail).expanduser())
    return channel.model_copy(update=changes) if changes else channel


READER = "airflow_ddlrepl.goldengate.prm.channel_parameters"
"""The module that reads a file: it imports this folder, and a grammar that other channel files have no need of."""

Report = Callable[[Place, str], None]


def with_parameter_files(data: Any, folder: Path | None, refused: Report, attention: Report) -> Any:
    """Return the data of a channel file with the parameters of each file that `extract` or `replicat` names.

    folder: of the channel file, which paths are relative to; None: it is no file. refused, attention: take what a file
    has that is wrong, or that somebody has to decide, with the place in the channel file.
    """
    for place, section, side in _sections(data):
        path = section.get(side)
        if not isinstance(path, str):
            continue
        if folder is None:
            refused((*place, side), "the path of a parameter file is for a channel file on disk")
            section.pop(side)
            continue
        found = import_module(READER).section_of(folder / path, side)
        for line in found.refused:
            refused((*place, side), line)
        for line in found.attention:
            attention((*place, side), line)
        if found.parameters is None:
            section.pop(side)
        else:
            section[side] = found.parameters
    return data


def _sections(data: Any) -> Iterator[tuple[Place, dict[str, Any], str]]:
    """Yield the sections that may have parameters of GoldenGate, with their places in the file."""
    if not isinstance(data, dict):
        return
    if isinstance(data.get("source"), dict):
        yield ("source",), data["source"], "extract"
    for key in ("targets", "replays"):
        listed = data.get(key)
        for number, one in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(one, dict):
                yield (key, number), one, "replicat"
