"""This module lists HVR's actions and parameters, with what becomes of each in a channel file."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_ddlrepl.hvr.action_text import PARAMETERS
from airflow_ddlrepl.hvr.definitions.definition import ALL
from airflow_ddlrepl.notation.import_findings import TAKEN, Entry, Fate, entries, taken

_CONTEXT = {"Context": Entry(Fate.REFUSED, "an action that holds in some contexts only would hold always here")}


def _safe(why: str, *names: str) -> dict[str, Entry]:
    return entries(Fate.SAFE, why, *names)


def _attention(why: str, *names: str) -> dict[str, Entry]:
    return entries(Fate.ATTENTION, why, *names)


def _refused(why: str, *names: str) -> dict[str, Entry]:
    return entries(Fate.REFUSED, why, *names)


_FILES = "files are no source and no target here: take it out, or write files by a task of your own"
_LOG = "PostgreSQL's log is read through a replication slot: nothing is to be set"
_ROWS = (
    "the targets would get rows or values that HVR leaves out or changes: choose rows by `restrict`, and make values by"
    " `transform`"
)

_CAPTURE = {
    **taken("NoTruncate"),
    **_safe("changes of a row are always netted per cycle", "Coalesce"),
    **_safe("the log's old values are used where a target needs them", "NoBeforeUpdate"),
    **_safe("a value that the log lacks is kept at the target, or the row is read again", "AugmentIncomplete"),
    **_safe(_LOG, "LogReadMethod SupplementalLogging LogTruncate ArchiveLogPath ArchiveLogFormat ArchiveLogOnly"),
    **_safe(
        _LOG, "XLogDirectory LogJournal LogJournalSysDir CheckpointFrequency CheckpointStorage HashBuckets HashKey"
    ),
    **_safe(_LOG, "TriggerBased QuickToggle ToggleFrequency KeyOnlyCaptureTable"),
    **taken("IgnoreSessionName"),
    **_refused(_ROWS, "IgnoreCondition IgnoreUpdateCondition"),
    **_refused(_FILES, "DeleteAfterCapture Pattern IgnorePattern IgnoreUnterminated IgnoreSizeChanges AccessDelay"),
    **_refused(_FILES, "UseDirectoryTime"),
}
_INTEGRATE = {
    **taken("Method"),
    **_safe("changes are always merged set by set, in one transaction per cycle", "Burst BurstCommitFrequency"),
    **_safe("changes are always merged set by set, in one transaction per cycle", "Coalesce TxBundleSize TxSplitLimit"),
    **_safe("a cycle is as long as capture.window_bytes says", "CycleByteLimit JournalRouterFiles JournalBurstTable"),
    **_safe("triggers of the target never fire in integrate", "NoTriggerFiring"),
    **_safe("every table's counts are logged", "Verbose ReorderRows"),
    **_refused(
        "a row that does not fit suspends its table, and is never resolved silently: write `conflicts`"
        " (docs/both_directions.md)",
        "Resilient",
    ),
    **_attention(
        "a row that does not fit suspends its table, and waits in the trail (`ddlrepl errors`)", "OnErrorSaveFailed"
    ),
    **_attention("changes arrive with the next cycle: set `schedule` of the channel", "Delay"),
    **_refused(
        "sessions that write here are called ddlrepl…: write `capture: {ignore_sessions: {names: [ddlrepl*]}}` in the"
        " channel file of the other direction (docs/both_directions.md)",
        "SessionName",
    ),
    **_refused(
        "rows are written to tables, not by procedures of the target: make their values by `transform`", "DbProc"
    ),
    **_refused(
        "a target has the rows of the source: `time_key` of `target_tables` makes one of each change", "CoalesceTimekey"
    ),
    **_refused(_FILES, "Topic MessageKey MessageKeySerializer MessageHeaders OnDeleteSendTombstone RenameExpression"),
    **_refused(_FILES, "ComparePattern ErrorOnOverwrite MaxFileSize TableName KeyName"),
    **_CONTEXT,
}
_COLUMNS = {
    **taken("Name BaseName Absent Key Extra SoftDelete IntegrateExpression Datatype Length Precision Scale"),
    **_safe("PostgreSQL distributes no rows", "DistributionKey"),
    **_refused("a column of a name is meant, not of a type: write an action for each column", "DatatypeMatch"),
    **_refused("write it as `target_tables` (docs/target_tables.md)", "TimeKey"),
    **_refused("values come from a function of your own (docs/transform.md)", "CaptureExpression"),
    **_refused("values come from a function of your own (docs/transform.md)", "CaptureExpressionType ExpressionScope"),
    **_refused(_ROWS, "CaptureFromRowId TrimDatatype"),
    **_refused("write it as `target_tables` with `key` (docs/target_tables.md)", "SurrogateKey"),
    **_refused("a target's columns may be NULL where the source's may: alter the source's column", "Nullable"),
    **_refused("compare looks at every column: leave the column out of the target by Absent", "IgnoreDuringCompare"),
    **_CONTEXT,
}
_TABLES = {
    **taken("BaseName Schema CoerceErrorPolicy"),
    **_safe("nothing of the kind is needed between PostgreSQL servers", "NoDuplicateRows CreateUnicodeDatatypes"),
    **_safe("nothing of the kind is needed between PostgreSQL servers", "DistributionKeyLimit PartitionByDate"),
    **_safe("nothing of the kind is needed between PostgreSQL servers", "DistributionKeyAvoidPattern BQClusterKeys"),
    **_safe("nothing of the kind is needed between PostgreSQL servers", "TransientTable"),
    **_refused("the target would have the table: leave it out by `exclude`, for all targets", "Absent"),
    **_refused("write it as `target_tables` (docs/target_tables.md)", "CoerceErrorType"),
    **_refused(_ROWS, "PackedInside SapUnpackErrorPolicy TrimWhiteSpace TrimTime MapBinary"),
    **_refused(_ROWS, "MapEmptyStringToSpace MapEmptyDateToConstant CharacterMapping MissingRepresentationString"),
    **_refused(_ROWS, "MissingRepresentationNumeric MissingRepresentationDate"),
    **_CONTEXT,
}
_RESTRICT = {
    **taken("CaptureCondition IntegrateCondition RefreshCondition"),
    **_safe("a table is read in chunks that need no condition", "SliceCountCondition SliceSeriesCondition"),
    **_refused(_ROWS, "CompareCondition RefreshJoinCondition CompareJoinCondition HorizColumn HorizLookupTable"),
    **_refused(_ROWS, "DynamicHorizLookup AddressTo AddressSubscribe SelectDistinct"),
    **taken("Context"),
}
_SCHEDULING = {
    **_attention(
        "set `schedule` of the channel: a cron expression for its DAG", "CaptureStartTimes CaptureOnceOnStart"
    ),
    **_attention("set `schedule` of the channel: a cron expression for its DAG", "IntegrateStartTimes"),
    **_attention("set `schedule` of the channel: a cron expression for its DAG", "IntegrateOnceOnStart"),
    **_safe("a cycle integrates what it has captured", "IntegrateStartAfterCapture"),
    **_attention("watch the channel's DAG in Airflow", "LatencySLA TimeContext"),
}
_OBJECTS = {
    **_attention("grant rights on new tables by ALTER DEFAULT PRIVILEGES at the target", "RefreshTableGrant"),
    **_attention(
        "tables are created as at the source", "RefreshTableStorage RefreshTableCreateClause RefreshTableCreateType"
    ),
    **_refused(
        "its SQL is not run: make what it makes at the target by hand",
        "IncludeSqlFile IncludeSQLFile IncludeSqlDirectory IncludeSQLDirectory",
    ),
    **_safe("no objects of HVR are needed", ALL),
}

ACTIONS: Mapping[str, Mapping[str, Entry]] = {
    "AdaptDDL": dict.fromkeys((name for name in PARAMETERS if name != "Table"), TAKEN),
    "Capture": _CAPTURE,
    "Integrate": _INTEGRATE,
    "ColumnProperties": _COLUMNS,
    "TableProperties": _TABLES,
    "Restrict": _RESTRICT,
    "Transform": _refused(
        "values come from a function of your own (docs/transform.md)",
        "Command CommandArguments SapUnpack SapAugment ExecOnHub Parallel Context",
    ),
    "CollisionDetect": _refused(
        "the target's rows are the source's: write `conflicts` where both sides write (docs/both_directions.md)",
        "TreatCollisionAsError TimestampColumn AutoHistoryPurge DetectDuringRefresh Context",
    ),
    "DbSequence": {
        **taken("Name Schema"),
        **_refused(
            "sequences go from the source to every target, under the source's name", "CaptureOnly IntegrateOnly"
        ),
        **_refused("sequences go from the source to every target, under the source's name", "BaseName"),
    },
    "DbObjectGeneration": _OBJECTS,
    "Scheduling": _SCHEDULING,
    "Environment": {
        **_attention(
            "nothing reads a variable of HVR's environment: look what it changes, and set that in the channel file",
            "Name",
        ),
        **taken("Value Context"),
    },
    "AgentPlugin": _refused(
        "nothing calls your command: make it a task of your DAG",
        "Command DbProc UserArgument ExecOnHub Order Path Context",
    ),
    "FileFormat": _refused(_FILES, ALL),
    "LocationProperties": _attention("a location is an Airflow connection: what it needs is set there", ALL),
}


def entry(action: str, parameter: str) -> Entry:
    """Return what becomes of a parameter that the action has."""
    known = ACTIONS[action]
    return known.get(parameter) or known[ALL]


def without_parameters(action: str) -> Entry:
    """Return what becomes of an action that is given without parameters."""
    entries = list(ACTIONS[action].values())
    return TAKEN if TAKEN in entries else entries[-1]
