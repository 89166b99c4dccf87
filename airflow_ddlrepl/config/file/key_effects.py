"""What happens when a key of the channel file changes after activation, for every key there is."""

from __future__ import annotations

from enum import Enum


class Effect(Enum):
    """An effect is what a changed key does to a channel that is active, in words for people."""

    ACTS = "the next cycle does as the key says"
    LOADS = "the next cycle does so, and loads the tables whose values at the targets change"
    SOURCE = (
        "the next cycle brings the source up to it: tables that join or leave are named; where the run's role may not,"
        " the run names the key, and fails with SRC-136 where rows would be lost, until `ddlrepl activate`"
    )
    TOLD = "tables that are at a target stay where they are, and each run and `ddlrepl status` say so; new ones follow"
    ACTIVATE = "`ddlrepl activate` does as the key says"
    STOPS = "the run stops with an error that says what to do: it is another place, or another channel"


EFFECTS: dict[str, dict[Effect, str]] = {
    "AdaptAction": {
        Effect.SOURCE: "add_table_pattern capture_schema ignore_table_pattern",
        Effect.TOLD: "integrate_schema",
        Effect.ACTS: (
            "keep_existing_structure keep_old_rows on_add_column_with_default on_drop_table "
            "on_enroll_break on_preserve_alter_table_fail refresh_options table"
        ),
    },
    "ApplyTarget": {
        Effect.ACTIVATE: "apply code location lock_timeout name run_as trusted_owners",
    },
    "Capture": {
        Effect.ACTS: "format ignore_sessions no_truncate parallel window_bytes",
    },
    "Channel": {
        Effect.SOURCE: "adapt_ddl conflicts replay_ddl restrict source target_tables transform",
        Effect.ACTS: (
            "ask_before capture db_sequence defaults hvr_version limits lock new_targets on_trouble replays retention "
            "rewind_horizon schedule spark targets trail"
        ),
        Effect.STOPS: "channel repository",
        Effect.LOADS: "column_properties table_properties",
        Effect.ACTIVATE: "streams",
    },
    "Clause": {
        Effect.ACTS: (
            "instr instr_comments instr_comments_words instr_words objname objtype optype scope stay_metadata"
        ),
    },
    "ColumnMap": {
        Effect.LOADS: "columns use_defaults",
    },
    "ColumnProperty": {
        Effect.LOADS: "absent columns name tables targets",
    },
    "ConflictSection": {
        Effect.SOURCE: (
            "compare compare_deletes delete_row_exists delete_row_missing insert_row_exists "
            "update_row_exists update_row_missing"
        ),
    },
    "ConflictRule": {
        Effect.SOURCE: (
            "compare compare_deletes delete_row_exists delete_row_missing insert_row_exists tables "
            "targets update_row_exists update_row_missing"
        ),
    },
    "DbSequences": {
        Effect.ACTS: "headroom sequences",
    },
    "ErrorRule": {
        Effect.ACTS: "action error exclude include max_retries retry_delay",
    },
    "ExtractParameters": {
        Effect.SOURCE: (
            "add_trandata ddl exclude exclude_wildcard_objects_only ignore_replicates remove_comments "
            "scope_semantics substitutions tables"
        ),
    },
    "Filters": {
        Effect.ACTS: "exclude include",
    },
    "HoldLog": {
        Effect.ACTS: "age size",
    },
    "IgnoredSessions": {
        Effect.SOURCE: "known_by names roles",
        Effect.ACTS: "origins",
    },
    "Limits": {
        Effect.ACTS: "at_limit gaps retained_log_bytes trail_bytes unsendable_transactions warn_percent",
        Effect.SOURCE: "message_bytes",
    },
    "Lock": {
        Effect.ACTS: "lease_seconds",
    },
    "MapParameter": {
        Effect.SOURCE: "colmap condition conflicts ignore insert_all_records keycols source target",
    },
    "ReplayEntry": {
        Effect.SOURCE: "code exclude tables",
    },
    "ReplicatParameters": {
        Effect.SOURCE: (
            "code ddl errors exclude exclude_wildcard_objects_only map_derived maps remove_comments substitutions"
        ),
    },
    "Restriction": {
        Effect.SOURCE: "capture condition context ignore integrate refresh tables targets",
    },
    "Retention": {
        Effect.ACTS: "age size",
    },
    "RewindHorizon": {
        Effect.ACTS: "age hold_log size",
    },
    "Rule": {
        Effect.ACTS: "ddl dml tables",
    },
    "RuleSets": {
        Effect.ACTS: "negative positive",
    },
    "Source": {
        Effect.SOURCE: "adapt_ddl exclude extract replica_identity tables",
        Effect.STOPS: "ddl location publication slot",
        Effect.ACTS: "reload_every",
    },
    "Spark": {
        Effect.ACTS: "conf master remote",
    },
    "Streams": {
        Effect.ACTIVATE: "calls function_seconds functions message_types queues source_database targets",
    },
    "Substitution": {
        Effect.ACTS: "exclude include replacement search",
    },
    "TableParameter": {
        Effect.SOURCE: "cols cols_except condition ignore table",
    },
    "TableProperty": {
        Effect.LOADS: "name tables targets",
    },
    "Target": {
        Effect.ACTS: (
            "adapt_ddl apply_every existing_tables lock_timeout name on_error partitions rules sort suspended_log "
            "trusted_owners"
        ),
        Effect.STOPS: "location",
        Effect.SOURCE: "history replicat",
        Effect.TOLD: "schemas",
    },
    "TablePartitions": {
        Effect.ACTS: "by tables",
    },
    "TableSort": {
        Effect.ACTS: "by tables",
    },
    "TargetTable": {
        Effect.LOADS: "coerce_error_policy",
        Effect.SOURCE: "deleted_at extra key soft_delete tables targets time_key types",
    },
    "Transformation": {
        Effect.SOURCE: "columns function reads seconds tables targets version",
    },
}
"""The keys of each section of the channel file by the effect of their changes. A section is called as its class."""


def effect_of(section: str, key: str) -> Effect:
    """Return what happens when a key of a section changes. Raises KeyError for a key that nobody has thought of."""
    for effect, keys in EFFECTS[section].items():
        if key in keys.split():
            return effect
    raise KeyError(f"{section}.{key}")
