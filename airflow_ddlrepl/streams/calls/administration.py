"""This module defines the calls that make rules, rule sets and clients by hand."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from airflow_ddlrepl.notation.section import YesNo
from airflow_ddlrepl.streams.calls.procedure import Procedure, Text

RuleName = Annotated[Text, Field(description="the rule, as [SCHEMA.]NAME")]
RuleSetName = Annotated[Text, Field(description="the rule set, as [SCHEMA.]NAME")]
ClientName = Annotated[Text, Field(description="its name")]
ClientQueue = Annotated[Text, Field(description="the queue that the client uses")]
PositiveSet = Annotated[str | None, Field(description="its positive rule set")]
NegativeSet = Annotated[str | None, Field(description="its negative rule set")]
TakePositive = Annotated[YesNo, Field(description="take its positive rule set away")]
TakeNegative = Annotated[YesNo, Field(description="take its negative rule set away")]
CaptureUser = Annotated[str | None, Field(description="no effect: it reads as the user of the source's location")]
ApplyUser = Annotated[str | None, Field(description="no effect: it writes as the user of its target's location")]

ApplyHandler = Annotated[
    str | None,
    Field(description="a function of `functions`, by its name, for such messages or for the end of each transaction"),
]


class CreateRuleSet(Procedure, package="DBMS_RULE_ADM"):
    """An empty rule set."""

    rule_set_name: RuleSetName
    evaluation_context: str | None = Field(None, description="of the rules that name none")
    rule_set_comment: str | None = Field(None, description="what it is for")


class CreateRule(Procedure, package="DBMS_RULE_ADM"):
    """A rule with a condition of its own."""

    rule_name: RuleName
    condition: str | None = Field(description="over :dml and :ddl")  # an empty one is refused where it is parsed
    evaluation_context: str | None = Field(None, description="default: that for LCRs")
    rule_comment: str | None = Field(None, description="what it is for")


class AlterRule(Procedure, package="DBMS_RULE_ADM"):
    """Another condition for a rule."""

    rule_name: RuleName
    condition: str | None = Field(None, description="over :dml and :ddl")
    evaluation_context: str | None = Field(None, description="default: as it is")


class DropRule(Procedure, package="DBMS_RULE_ADM"):
    """A rule is removed."""

    rule_name: RuleName
    force: YesNo = Field(False, description="also from the rule sets that have it")


class AddRule(Procedure, package="DBMS_RULE_ADM"):
    """A rule is put into a rule set."""

    rule_name: RuleName
    rule_set_name: RuleSetName
    evaluation_context: str | None = Field(None, description="default: that of the rule")
    rule_comment: str | None = Field(None, description="what it is for")


class RemoveRule(Procedure, package="DBMS_RULE_ADM"):
    """A rule is taken out of a rule set."""

    rule_name: RuleName
    rule_set_name: RuleSetName


class RemoveRuleOfClient(Procedure, name="remove_client_rule"):
    """A rule is taken out of a client's rule sets (DBMS_STREAMS_ADM.REMOVE_RULE)."""

    rule_name: str | None = Field(description="the rule; null: all rules of the rule set")
    streams_type: str = Field(description="capture, sync_capture, propagation, apply or dequeue")
    streams_name: Text = Field(description="the client")
    drop_unused_rule: YesNo = Field(True, description="also drop the rule, where nothing else has it")
    inclusion_rule: YesNo = Field(True, description="false: into the negative rule set")


class CreateCapture(Procedure, package="DBMS_CAPTURE_ADM"):
    """A capture process with the rule sets that are named."""

    queue_name: ClientQueue = "streams_queue"
    capture_name: ClientName
    rule_set_name: PositiveSet = None
    source_database: str | None = Field(
        None, description="null: the local one; another one makes it a downstream capture"
    )
    negative_rule_set_name: NegativeSet = None
    capture_user: CaptureUser = None


class CreateSyncCapture(Procedure, package="DBMS_CAPTURE_ADM"):
    """A synchronous capture with the positive rule set that is named."""

    queue_name: ClientQueue = "streams_queue"
    capture_name: ClientName
    rule_set_name: Text = Field(description="its positive rule set")
    capture_user: CaptureUser = None


class AlterCapture(Procedure, package="DBMS_CAPTURE_ADM"):
    """Other rule sets for a capture process."""

    capture_name: ClientName
    rule_set_name: PositiveSet = None
    remove_rule_set: TakePositive = False
    negative_rule_set_name: NegativeSet = None
    remove_negative_rule_set: TakeNegative = False
    capture_user: CaptureUser = None


class CreateApply(Procedure, package="DBMS_APPLY_ADM"):
    """An apply process with the rule sets that are named."""

    queue_name: ClientQueue = "streams_queue"
    apply_name: ClientName
    rule_set_name: PositiveSet = None
    message_handler: ApplyHandler = None
    ddl_handler: ApplyHandler = None
    precommit_handler: ApplyHandler = None
    source_database: str | None = Field(None, description="the database whose changes it applies")
    negative_rule_set_name: NegativeSet = None
    apply_user: ApplyUser = None


class AlterApply(Procedure, package="DBMS_APPLY_ADM"):
    """Other rule sets for an apply process."""

    apply_name: ClientName
    rule_set_name: PositiveSet = None
    remove_rule_set: TakePositive = False
    message_handler: ApplyHandler = None
    remove_message_handler: YesNo = Field(False, description="take it away")
    ddl_handler: ApplyHandler = None
    remove_ddl_handler: YesNo = Field(False, description="take it away")
    precommit_handler: ApplyHandler = None
    remove_precommit_handler: YesNo = Field(False, description="take it away")
    negative_rule_set_name: NegativeSet = None
    remove_negative_rule_set: TakeNegative = False
    apply_user: ApplyUser = None


class CreatePropagation(Procedure, package="DBMS_PROPAGATION_ADM"):
    """A propagation with the rule sets that are named."""

    propagation_name: ClientName
    source_queue: Text = Field(description="the queue that messages come from")
    destination_queue: Text = Field(description="the queue that they go to")
    destination_dblink: str | None = Field(None, description="the link to the other database")
    rule_set_name: PositiveSet = None
    negative_rule_set_name: NegativeSet = None


class AlterPropagation(Procedure, package="DBMS_PROPAGATION_ADM"):
    """Other rule sets for a propagation."""

    propagation_name: ClientName
    rule_set_name: PositiveSet = None
    remove_rule_set: TakePositive = False
    negative_rule_set_name: NegativeSet = None
    remove_negative_rule_set: TakeNegative = False
