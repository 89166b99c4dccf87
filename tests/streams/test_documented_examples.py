"""The examples of the documentation of Oracle Streams: its scripts make its conditions, which take what it says."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest

from airflow_ddlrepl.notation.import_findings import Fate
from airflow_ddlrepl.streams.evaluation.messages import holds
from airflow_ddlrepl.streams.messages import Message, RowLcr
from airflow_ddlrepl.streams.parsing.parser import parse
from airflow_ddlrepl.streams.procedures.environment import Environment
from airflow_ddlrepl.streams.procedures.run import environment_of
from airflow_ddlrepl.streams.rules.client import Client, ClientKind
from airflow_ddlrepl.streams.rules.decide import decide
from airflow_ddlrepl.streams.rules.rule import RuleSet, make_rule
from airflow_ddlrepl.streams.rules.transform import transform
from airflow_ddlrepl.streams.script.compile import compile_script
from tests.streams.making import class_for, client, ddl, row, taken
from tests.streams.sentences import TRUE_FOR, Example, combinations, examples, read
from tests.streams.test_message_rules import message

_VARIABLE = re.compile(r"VAR\$_\d+")


def made_by(script: str) -> Environment:
    found = compile_script(script)
    assert [one for one in found.findings if one.fate is Fate.REFUSED] == []
    return environment_of(found.parameters())


def numbered(texts: list[str]) -> list[str]:
    """Conditions with the variables of messages numbered by their first places; Oracle numbers them otherwise."""
    seen: dict[str, str] = {}
    return [_VARIABLE.sub(lambda one: seen.setdefault(one[0], f"VAR$_{len(seen)}"), text.strip()) for text in texts]


@pytest.mark.parametrize("example", [pytest.param(e, marks=pytest.mark.req(*e.reqs), id=e.name) for e in examples()])
def test_a_script_makes_the_rules_of_the_documentation_and_they_take_what_it_says(example: Example) -> None:
    found = made_by(example.script)
    assert numbered([rule.text for rule in found.rules.values()]) == numbered(list(example.rules))
    of = client(found, example.kind, example.client)
    for one in example.takes:
        for lcr in one.messages():
            verdict = decide(of, lcr)
            assert verdict.is_taken, one
            left = transform(lcr, verdict)
            assert not one.becomes or (isinstance(left, RowLcr) and left.command == one.becomes), one
    assert [one for one in example.ignores if any(taken(of, one.messages()))] == []


@pytest.mark.req("ST-S-56", "ST-S-57", "ST-S-61", "ST-S-62")
@pytest.mark.parametrize(("name", "takes_tagged"), [("global_rules", False), ("global_rules_with_tags", True)])
def test_global_rules_take_all_changes_with_or_without_those_that_have_a_tag(name: str, takes_tagged: bool) -> None:
    example = read(name)
    of = client(made_by(example.script), example.kind, example.client)
    assert of.positive is not None and len(of.positive.rules) == 2 and of.negative is None
    everything = [one for other in examples() for one in (*other.takes, *other.ignores)]
    untagged: list[Message] = [lcr for one in everything for lcr in one.messages()]
    tagged: list[Message] = [row("hr.t", tag=b"\2"), ddl("hr.t", tag=b"\2")]
    assert len(untagged) > 40 and all(taken(of, untagged))
    assert taken(of, tagged) == [takes_tagged] * 2


@pytest.mark.req("ST-A-04")
def test_the_tag_in_the_and_condition_is_the_hexadecimal_equivalent_of_02() -> None:
    example = read("and_condition")
    of = client(made_by(example.script), example.kind, example.client)
    for tag, is_taken in ((b"\2", True), (b"\3", False), (b"02", False), (None, False)):
        assert taken(of, [row("hr.departments", tag=tag), ddl("hr.departments", tag=tag)]) == [is_taken] * 2
    assert taken(of, [row("hr.employees", tag=b"\2")]) == [False]
    assert taken(of, [row("hr.departments", tag=b"\2", source_database="DBS2.EXAMPLE.COM")]) == [False]


@pytest.mark.req("ST-M-10", "ST-M-12", "ST-M-14")
@pytest.mark.parametrize(
    ("kind", "name", "region", "priority"),
    [("dequeue", "msg_client", "EUROPE", 1), ("apply", "apply_msg", "AMERICAS", 2)],
)
def test_each_client_has_the_messages_of_its_rule(kind: str, name: str, region: str, priority: int) -> None:
    of = client(made_by(read("message_rules").script), kind, name)
    regions, priorities = ("EUROPE", "AMERICAS", "ASIA"), (1, 2, 3)
    for one in product(regions, priorities):
        assert taken(of, [message(*one)]) == [one == (region, priority)]


def rule_set(which: str, state: str) -> RuleSet | None:
    """A rule set of a state of table 5-1, with a rule for each of the messages that it is true for."""
    if state == "None":
        return None
    found = RuleSet(which)
    for name in TRUE_FOR[which] if state == "Exists with rules" else "":
        found.add(make_rule(f"{which}_{name}", f":dml.get_object_name() = '{name.upper()}'"))
    return found


@pytest.mark.parametrize("kind", [kind for kind in ClientKind if kind is not ClientKind.SYNC_CAPTURE])
@pytest.mark.parametrize(
    ("negative", "positive", "wanted"),
    [pytest.param(*states, marks=pytest.mark.req(req)) for req, *states in combinations()],
)
def test_clients_of_all_kinds_behave_as_the_table_of_rule_sets_says(
    kind: ClientKind, negative: str, positive: str, wanted: str
) -> None:
    of = Client("c", kind, rule_set("positive", positive), rule_set("negative", negative))
    lcrs = {name: row(f"hr.{name}", message_class=class_for(kind)) for name in "abcd"}
    assert "".join(name for name, lcr in lcrs.items() if decide(of, lcr).is_taken) == wanted


INSIDE, OUTSIDE, EMPTY = 2, 3, None
EVALUATED = {
    "insert": (
        "For an insert, if the new value in the row LCR for region_id is 2, then the insert is applied.",
        "For an insert, if the new value in the row LCR for region_id is not 2 or is NULL, then the insert is filtered"
        " out.",
        "For an update, if the old value in the row LCR for region_id is not 2 or is NULL and the new value in the row"
        " LCR for region_id is 2, then the update is converted into an insert and applied.",
    ),
    "update": (
        "For an update, if both the old value and the new value in the row LCR for region_id are 2, then the update is"
        " applied as an update.",
        "For an update, if either the old value or the new value in the row LCR for region_id is not 2 or is NULL, then"
        " the update does not satisfy the update rule.",
    ),
    "delete": (
        "For a delete, if the old value in the row LCR for region_id is 2, then the delete is applied.",
        "For a delete, if the old value in the row LCR for region_id is not 2 or is NULL, then the delete is filtered"
        " out.",
        "For an update, if the old value in the row LCR for region_id is 2 and the new value in the row LCR for"
        " region_id is not 2 or is NULL, then the update is converted into a delete and applied.",
    ),
}
"""How row LCRs are evaluated by each of the three rules with region_id=2."""
_SENTENCE = re.compile(r"For an? (\w+), if (.*), then the \w+ (.*)\.")
_IMAGE = re.compile(r"the (old|new) value in the row LCR for region_id is (2|not 2 or is NULL)")


def cases(of: str) -> list[tuple[str, Any, Any]]:
    """The row LCRs that a sentence is about: command, old value, new value."""
    found = _SENTENCE.fullmatch(of)
    assert found is not None, of
    command, when = found[1].upper(), found[2]
    values = (INSIDE, OUTSIDE, EMPTY)
    olds, news = ((EMPTY,) if command == other else values for other in ("INSERT", "DELETE"))
    pairs = list(product(olds, news))
    if when.startswith("both "):
        pairs = [(INSIDE, INSIDE)]
    elif when.startswith("either "):
        pairs = [one for one in pairs if one != (INSIDE, INSIDE)]
    else:
        wanted = {image: (INSIDE,) if value == "2" else (OUTSIDE, EMPTY) for image, value in _IMAGE.findall(when)}
        assert wanted, of
        pairs = [(a, b) for a, b in pairs if a in wanted.get("old", (a,)) and b in wanted.get("new", (b,))]
    return [(command, old, new) for old, new in pairs]


@pytest.mark.req(*(f"ST-U-{number:02}" for number in range(6, 14)))
@pytest.mark.parametrize("of", EVALUATED)
def test_row_lcrs_are_evaluated_by_each_rule_as_its_sentences_say(of: str) -> None:
    """Of an update that a rule does not satisfy, another one of the three may be true."""
    rule = read("subset_rules").rules[list(EVALUATED).index(of)]
    apply = client(made_by(read("subset_rules").script), "apply", "apply")
    for sentence in EVALUATED[of]:
        result = sentence.rpartition(", then the ")[2]
        for command, old, new in cases(sentence):
            images = [{"REGION_ID": value, "REGION_NAME": "x"} for value in (old, new)]
            lcr = row(
                "hr.regions",
                command,
                {} if command == "INSERT" else images[0],
                {} if command == "DELETE" else images[1],
            )
            is_true = holds(parse(rule), lcr) is True
            assert is_true == ("applied" in result), (sentence, old, new)
            if is_true:
                into = re.search(r"converted into an? (\w+)", result)
                left = transform(lcr, decide(apply, lcr))
                assert isinstance(left, RowLcr)
                assert left.command == (into[1].upper() if into else command)
