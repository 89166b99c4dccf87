"""Transform: SapUnpack does not go together with AdaptDDL, and no other transformation is there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_ddlrepl.config.file.load import read_channel
from airflow_ddlrepl.errors import ConfigError

FILE = """\
channel: shop
source:
  location: postgresql://app@localhost/shop
  tables: ["public.*"]
{at_source}
targets:
  - name: warehouse
    location: postgresql://dw@localhost/warehouse
{at_target}
{rest}
"""
ADAPT = {
    "at_source": "  adapt_ddl: [{add_table_pattern: '*'}]",
    "at_target": "    adapt_ddl: [{on_enroll_break: WARNING}]",
    "rest": "adapt_ddl: [AddTablePattern=*]",
}
NOWHERE = dict.fromkeys(ADAPT, "")


def refused(**parts: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read_channel(FILE.format(**{**NOWHERE, **parts}), "shop.yml")
    assert caught.value.code == "CFG-101"
    return caught.value.message


@pytest.mark.req("HVR-O-24")
@pytest.mark.parametrize("where", ADAPT)
@pytest.mark.parametrize("said", ["[SapUnpack]", "SapUnpack", "[{sap_unpack: true}]", "['Table=x, SapUnpack']"])
def test_sap_unpack_and_adapt_ddl_are_refused_with_the_line(where: str, said: str) -> None:
    """Wherever an AdaptDDL action is."""
    told = refused(**{where: ADAPT[where], "rest": f"{ADAPT['rest'] if where == 'rest' else ''}\ntransform: {said}"})
    assert told.startswith("shop.yml:11: transform: AdaptDDL and Transform SapUnpack can't be used together")


@pytest.mark.req("HVR-O-24")
def test_sap_unpack_in_the_text_of_an_adapt_ddl_action() -> None:
    told = refused(rest="adapt_ddl:\n  - AddTablePattern=*, SapUnpack")
    assert told.startswith("shop.yml:11: adapt_ddl[0]: AdaptDDL and Transform SapUnpack can't be used together")


@pytest.mark.parametrize(
    "said", ["[SapUnpack]", "[SapXForm]", "[Command=x]", "[{CsvEncoding: {Delimiter: ';'}}]", "[1]"]
)
def test_no_other_transformation_is_there(said: str) -> None:
    told = refused(rest=f"transform: {said}")
    assert told.startswith("shop.yml:10: transform: there is no transformation ") and "column_properties" in told


@pytest.mark.parametrize("said", [[], None])
def test_none_is_none(said: Any) -> None:
    data = {
        "channel": "shop",
        "source": {"location": "postgresql://app@localhost/shop", "tables": ["public.*"]},
        "targets": [{"name": "warehouse", "location": "postgresql://dw@localhost/warehouse"}],
        **({} if said is None else {"transform": said}),
    }
    assert read_channel(json.dumps(data)).transform == ()
