"""The channel file: what is accepted, what is refused and with which words."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import jsonschema
import pytest
import yaml

from airflow_ddlrepl.config.file.json_schema import json_schema
from airflow_ddlrepl.config.file.load import load_channel, read_channel
from airflow_ddlrepl.config.file.warnings import warnings
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.policies import OnAddColumnWithDefault, OnDropTable, OnEnrollBreak
from airflow_ddlrepl.errors import ConfigError, Exit
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.notation.moment import parse_moment
from airflow_ddlrepl.notation.name_pattern import matches, matches_name, matches_table

SMALLEST = """\
channel: shop
source:
  location: postgresql://app@localhost/shop
  tables: ["public.*"]
targets:
  - name: warehouse
    location: postgresql://dw@localhost/warehouse
"""
FULL = (
    SMALLEST
    + """\
    schemas: {public: shop}
    existing_tables: replace
    adapt_ddl:
      - on_enroll_break: fail_integ_job
adapt_ddl:
  - add_table_pattern: "*"
    ignore_table_pattern: tmp*|temp*
    capture_schema: public
    on_enroll_break: Refresh
    on_add_column_with_default: ADD_COLUMN_WITH_EMPTY_DEFAULT
    on_drop_table: drop_from_channel_and_target
    keep_existing_structure: true
defaults: hvr
repository: sqlite:///state/repository.db
trail: file:///var/lib/ddlrepl/trail
capture: {parallel: 2, window_bytes: 256MB, format: text}
spark: {master: "local[2]", conf: {spark.ui.enabled: false, spark.driver.cores: 2}}
lock: {lease_seconds: 90}
retention: {age: 7d, size: 10GB}
schedule: "*/5 * * * *"
"""
)


def refused(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read_channel(text, "shop.yaml")
    assert caught.value.code == "CFG-101"
    assert caught.value.exit_code is Exit.USAGE
    return str(caught.value)


def test_smallest_channel_has_our_defaults() -> None:
    channel = read_channel(SMALLEST)
    assert (channel.name, channel.publication, channel.slot) == ("shop", "ddlrepl_shop", "ddlrepl_shop")
    assert channel.defaults == "own"
    assert channel.lock.lease_seconds == 60
    assert channel.source_actions() == ()


def test_every_key_is_read() -> None:
    channel = read_channel(FULL)
    action = channel.adapt_ddl[0]
    assert action.on_enroll_break is OnEnrollBreak.REFRESH
    assert action.on_add_column_with_default is OnAddColumnWithDefault.ADD_COLUMN_WITH_EMPTY_DEFAULT
    assert action.on_drop_table is OnDropTable.DROP_FROM_CHANNEL_AND_TARGET
    assert channel.at("warehouse").actions[0].on_enroll_break is OnEnrollBreak.FAIL_INTEG_JOB
    assert channel.at("warehouse").actions[1:] == channel.source_actions()
    assert (channel.retention.age, channel.retention.size, channel.capture.window_bytes) == (
        604800,
        10 << 30,
        256 << 20,
    )
    assert channel.spark.conf == {"spark.ui.enabled": "false", "spark.driver.cores": "2"}
    assert channel.at("warehouse").target_name(TableName("public", "t")) == TableName("shop", "t")
    assert channel.at("warehouse").target_name(TableName("other", "t")) == TableName("other", "t")


def test_all_problems_are_told_at_once_with_file_and_line() -> None:
    text = refused(
        "channel: shop\n"
        "source:\n"
        "  location: postgresql://app@localhost/shop\n"
        "  tabels: [public.*]\n"
        "  tables: [public]\n"
        "targets:\n"
        "  - name: w\n"
        "    existing_tables: replac\n"
        "adapt_ddl:\n"
        "  - on_enroll_break: refrsh\n"
        "lock: {lease_seconds: true}\n"
        "channel: shop\n"
    )
    assert text.splitlines()[:8] == [
        "CFG-101: 7 problems",
        "shop.yaml:4: unknown key source.tabels; did you mean tables?",
        "shop.yaml:5: source.tables[0]: 'public' is not of the form schema.table, for example \"public.*\"",
        "shop.yaml:7: targets[0].location is missing",
        "shop.yaml:8: targets[0].existing_tables: has to be 'refuse' or 'replace'; did you mean replace?",
        "shop.yaml:10: adapt_ddl[0].on_enroll_break: "
        "has to be 'REFRESH', 'FAIL_INTEG_JOB' or 'WARNING'; did you mean REFRESH?",
        "shop.yaml:11: lock.lease_seconds: has to be a whole number",
        "shop.yaml:12: channel is here for the second time",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "shop.yaml:1: must contain keys"),
        ("[1, 2]", "shop.yaml:1: must contain keys"),
        ("channel: [\n", "shop.yaml:2: "),
        ("a: !!python/object/apply:os.system [ls]", "shop.yaml:1: could not determine a constructor"),
        ("a: &a [*a]", "too deeply nested"),
        ("x: \x00", "not text"),
        (SMALLEST.replace("shop\n", "'5 o''clock'\n", 1), "shop.yaml:1: channel: String should match pattern"),
        (SMALLEST.replace('["public.*"]', "public.*"), "shop.yaml:4: source.tables: has to be"),
        (SMALLEST + "  - {name: warehouse, location: b}\n", "two targets are called warehouse"),
        (SMALLEST + "adapt_ddl: [{keep_existing_structure: 'yes'}]", "true or false"),
        (SMALLEST + "schedule: every minute", "shop.yaml:8: schedule: is no cron expression"),
        (SMALLEST + 'schedule: "99 99 * * *"', "shop.yaml:8: schedule: is no cron expression"),
        (SMALLEST + 'schedule: "@once"', "shop.yaml:8: schedule: is no cron expression"),
        (SMALLEST + "retention: {age: 7 fortnights}", "for example 90s, 12h or 7d"),
    ],
)
def test_bad_text_is_refused(text: str, words: str) -> None:
    assert words in refused(text)


@pytest.mark.req("HVR-P-21")
def test_capture_schema_is_no_pattern() -> None:
    assert "not a pattern" in refused(SMALLEST + "adapt_ddl: [{capture_schema: 'aa*', add_table_pattern: x}]")


def test_alias_bomb_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert "too large" in refused("\n".join(lines))


def test_yaml_merge_keys_work_as_in_safe_load() -> None:
    text = SMALLEST + "  - &two {name: two, location: here}\n  - {<<: *two, name: three}\n"
    assert [target.name for target in read_channel(text).targets] == ["warehouse", "two", "three"]


def test_variables_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEMA", "shop")
    text = SMALLEST.replace("public.*", "${SCHEMA}.*")
    assert read_channel(text).source.tables == ("shop.*",)
    monkeypatch.delenv("SCHEMA")
    assert "shop.yaml:4: source.tables[0]: environment variable SCHEMA is not set" in refused(text)


def test_secrets_are_in_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PW", "geheim1")
    text = SMALLEST.replace("app@", "app:${PW}@").replace("dw@", "dw:geheim2@")
    channel = read_channel(text)
    assert "geheim" not in repr(channel) + str(channel) + channel.fingerprint()
    assert "geheim1" not in channel.model_dump_json()
    assert "geheim" not in refused(text + "    nmae: 1\nrepository: 5\n")
    broken = text.replace("location: postgresql://dw", "location: [postgresql://dw") + "]"
    assert "geheim" not in refused(broken)


def test_fingerprint_changes_with_meaning_only() -> None:
    one = read_channel(SMALLEST)
    assert one.fingerprint() == read_channel("# a comment\n" + SMALLEST).fingerprint()
    assert one.fingerprint() != read_channel(FULL).fingerprint()
    passwords = [read_channel(SMALLEST.replace("dw@", f"dw:{word}@")).fingerprint() for word in ("a", "b")]
    assert passwords[0] == passwords[1]


def test_relative_paths_start_at_the_file(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(SMALLEST + "repository: sqlite:///state/repository.db\ntrail: trail\n")
    channel = load_channel(file)
    assert channel.repository == f"sqlite:///{tmp_path}/state/repository.db"
    assert channel.trail == f"{tmp_path}/trail"


def test_the_home_folder_may_be_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/srv/app")
    file = tmp_path / "shop.yaml"
    file.write_text(SMALLEST + "repository: sqlite:///~/repository.db\ntrail: ~/trail\n")
    channel = load_channel(file)
    assert (channel.repository, channel.trail) == ("sqlite:////srv/app/repository.db", "/srv/app/trail")


@pytest.mark.parametrize("key", ["trail", "repository"])
def test_an_empty_variable_is_no_place(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trail would go into the channel file's folder."""
    monkeypatch.setenv("NOTHING", "")
    assert f"shop.yaml:8: {key}: String should have at least 1 character" in refused(SMALLEST + f'{key}: ""')
    if key == "trail":
        assert "shop.yaml:8: trail: String should have" in refused(SMALLEST + "trail: ${NOTHING}")


def test_defaults_lie_under_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DDLREPL_HOME", str(tmp_path))
    channel = read_channel(SMALLEST)
    assert channel.repository == f"sqlite:///{tmp_path}/repository.db"
    assert channel.trail == f"{tmp_path}/trail"


def test_missing_and_binary_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="CFG-100"):
        load_channel(tmp_path / "nope.yaml")
    file = tmp_path / "binary.yaml"
    file.write_bytes(b"channel: x\nsource: \xff\n")
    with pytest.raises(ConfigError, match=r"binary.yaml:2: not UTF-8"):
        load_channel(file)


def test_channel_survives_pickling() -> None:
    assert pickle.loads(pickle.dumps(read_channel(FULL))) == read_channel(FULL)


def test_json_schema_is_valid_and_agrees_with_the_models() -> None:
    schema = json.loads(json.dumps(json_schema()))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for text in (SMALLEST, FULL.replace("Refresh", "REFRESH")):
        assert list(validator.iter_errors(yaml.safe_load(text))) == []
    for bad in (
        SMALLEST + "nope: 1",
        SMALLEST.replace("channel: shop\n", ""),
        SMALLEST + "lock: 5",
    ):
        assert list(validator.iter_errors(yaml.safe_load(bad)))


def test_name_that_a_server_does_not_take_gets_a_unique_slot() -> None:
    slots = {read_channel(SMALLEST.replace("shop\n", f"{name}\n", 1)).slot for name in ("a-b", "a_b", "A_b")}
    assert len(slots) == 3
    assert all(len(slot) <= 63 and slot == slot.lower() and "-" not in slot for slot in slots)


@pytest.mark.req("HVR-P-03", "HVR-P-04", "HVR-P-05")
@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("o?_line_*", ["ol_line_1", "o1_line_x"], ["oxx_line_1"]),
        ("ord_[a-f]", ["ord_a", "ord_f"], ["ord_g"]),
        ("ord_[!a-f]", ["ord_g"], ["ord_a"]),
        ("tmp*|temp*", ["tmp1", "temp1"], ["te1"]),
        ("T*", ["tab", "Tab"], ["xtab"]),
        ('"T*"', ["T*"], ["t*", "Tab"]),
        ("a.b", ["a.b"], ["axb"]),
        ("ünï*", ["ünïcode", "ÜNÏ"], ["uni"]),
    ],
)
def test_patterns(pattern: str, yes: list[str], no: list[str]) -> None:
    assert all(matches(pattern, name) for name in yes)
    assert not any(matches(pattern, name) for name in no)


def test_a_pattern_for_the_name_alone_may_have_a_dot_in_quotes() -> None:
    assert matches_name('"c.d"', TableName("a", "c.d")) and not matches_name('"c.d"', TableName("c", "d"))
    assert matches_name("a.c|x", TableName("A", "c")) and matches_name("c|x", TableName("a", "x"))
    assert "schema.table" in refused(SMALLEST + "adapt_ddl: [{table: 'a.c|a.d', keep_existing_structure: true}]")
    read_channel(SMALLEST + "column_properties: [{tables: '\"c.d\"', columns: x, name: y}]")


def test_table_patterns() -> None:
    assert matches_table("*.*", TableName("a b", "c.d"))
    assert matches_table('"a.b".*', TableName("a.b", "c"))
    assert not matches_table('"a.b".*', TableName("a", "c"))
    source = read_channel(SMALLEST.replace('["public.*"]', '["public.*"]\n  exclude: ["public.tmp*"]')).source
    assert source.includes(TableName("public", "orders"))
    assert not source.includes(TableName("public", "tmp_1"))
    assert not source.includes(TableName("other", "orders"))


def test_policies_may_differ_per_target() -> None:
    text = (
        SMALLEST
        + "    adapt_ddl: [{on_enroll_break: refresh}]\n"
        + "  - {name: b, location: x, adapt_ddl: [{on_enroll_break: warning}]}"
    )
    channel = read_channel(text)
    assert [channel.at(n).actions[0].on_enroll_break for n in ("warehouse", "b")] == ["REFRESH", "WARNING"]


def test_parameters_on_the_wrong_side_are_warned_about() -> None:
    text = SMALLEST.replace('["public.*"]', '["public.*"]\n  adapt_ddl: [{on_enroll_break: refresh}, {table: "a.*"}]')
    channel = read_channel(text + "    adapt_ddl: [{add_table_pattern: t*, on_drop_table: keep, capture_schema: x}]\n")
    told = "\n".join(warnings(channel))
    assert "source.adapt_ddl[0].on_enroll_break does nothing at the source" in told
    for key in ("add_table_pattern", "on_drop_table", "capture_schema"):
        assert f"targets[0].adapt_ddl[0].{key} does nothing at a target" in told
    assert warnings(read_channel(SMALLEST)) == []
    assert (
        "ignore_table_pattern does nothing"
        in warnings(read_channel(SMALLEST + "adapt_ddl: [{ignore_table_pattern: a}]"))[0]
    )


def test_moments_need_their_offset() -> None:
    assert parse_moment("2026-11-21T08:00:00+02:00").isoformat() == "2026-11-21T06:00:00+00:00"
    assert parse_moment("2026-11-21T08:00:00.123456Z").microsecond == 123456
    beyond = ("2026-11-21T08:00:00+24:00", "0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00")
    for text in (
        "2026-11-21T08:00:00",
        "2026-11-21",
        "now",
        "",
        "08:00:00+02:00",
        "2026-13-21T08:00:00Z",
        "P1D",
        *beyond,
    ):
        with pytest.raises(ConfigError, match="CFG-111"):
            parse_moment(text)


def test_channel_is_frozen() -> None:
    channel = read_channel(SMALLEST)
    with pytest.raises(ValueError, match="frozen"):
        channel.name = "other"  # type: ignore[misc]
    assert isinstance(channel, Channel)


ACTIONS = (
    SMALLEST
    + """adapt_ddl:
  - {}
"""
)


@pytest.mark.req("HVR-O-27")
@pytest.mark.parametrize(
    ("line", "mapping"),
    [
        ("AddTablePattern=t*, IgnoreTablePattern=tmp*", "{add_table_pattern: t*, ignore_table_pattern: tmp*}"),
        ("AddTablePattern=a*|b*,CaptureSchema = shop", "{add_table_pattern: a*|b*, capture_schema: shop}"),
        ("OnEnrollBreak=warning, KeepExistingStructure", "{on_enroll_break: WARNING, keep_existing_structure: true}"),
        ("KeepExistingStructure=false, OnDropTable=KEEP", "{on_drop_table: keep, keep_existing_structure: false}"),
        ('Table="a,""b"""', "{table: 'a,\"b\"'}"),
        ("OnAddColumnWithDefault=FILL", "{on_add_column_with_default: fill}"),
    ],
)
def test_an_action_as_one_line_of_text(line: str, mapping: str) -> None:
    (found,) = read_channel(ACTIONS.format(f"'{line}'")).adapt_ddl
    assert (found,) == read_channel(ACTIONS.format(mapping)).adapt_ddl
    again = read_channel(ACTIONS.format(f"'{found.text()}'")).adapt_ddl[0]
    assert (again, again.text()) == (found, found.text())


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("AddTablePatern=t*", "no parameter AddTablePatern; did you mean AddTablePattern?"),
        ("x=1", "known: Table, AddTablePattern"),
        ("AddTablePattern", "AddTablePattern needs a value"),
        ("KeepExistingStructure=1", "takes no value, or false"),
        ("OnDropTable=KEEP, OnDropTable=KEEP", "OnDropTable is given twice"),
        ('AddTablePattern="a', "can't be read: write Parameter=value"),
        ("OnDropTable=LEAVE", "adapt_ddl[0].on_drop_table: has to be"),
    ],
)
def test_a_line_that_is_no_action(line: str, told: str) -> None:
    assert f"shop.yaml:{ACTIONS.count(chr(10))}: adapt_ddl[0]" in (said := refused(ACTIONS.format(f"'{line}'")))
    assert told in said


@pytest.mark.req("HVR-O-03")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (SMALLEST + "adapt_ddl: [AddTablePattern=*]\n", ""),
        (SMALLEST.replace("targets:", "  adapt_ddl: [AddTablePattern=*]\ntargets:"), "only the source has adapt_ddl"),
        (SMALLEST + "    adapt_ddl: [OnEnrollBreak=REFRESH]\n", "only targets have adapt_ddl"),
    ],
)
def test_actions_on_one_side_only_are_taken_with_a_hint(text: str, told: str) -> None:
    found = warnings(read_channel(text))
    assert len(found) == bool(told)
    assert told in "".join(found)
