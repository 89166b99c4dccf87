"""These codes are about a target (TGT)."""

from __future__ import annotations

from airflow_ddlrepl.errors.codes.code import Code

# fmt: off
CODES = (
    Code("TGT-101", "A target has no state of the channel: it was restored, or its schema `ddlrepl` was dropped.",
        "`ddlrepl activate` loads its tables again; with rows there set `existing_tables: replace` first."),
    Code("TGT-102", "The role may not create the schema `ddlrepl` at the target.",
        "Grant what the hint lists."),
    Code("TGT-103", "A target belongs to a channel of the same name, of another repository or under another name.",
        "Give the target its former name, or the channel another one; or set `existing_tables: replace`."),
    Code("TGT-104", "The schema `ddlrepl` at the target, or what is in it, belongs to a role that is not trusted.",
        "Look at what that role has made; give it to the role of the location, or drop it and activate."),
    Code("TGT-105", "Two targets of the channel are one database.",
        "Write a channel of its own for the other one."),
    Code("TGT-106", "A target is the source's database, and a table would be written over itself.",
        "Correct the target's location, or send its tables into other schemas (`schemas`)."),
    Code("TGT-107", "The activation that lets a target start over was interrupted.",
        "`ddlrepl activate` goes on with it: every table is loaded again."),
    Code("TGT-108", "Our tables at a target are of a newer version.",
        "Install that version of airflow-ddlrepl here, too."),
    Code("TGT-109", "Our tables at a target can't be made, because another session makes them.",
        "Wait for it, and run again."),
    Code("TGT-110", "A lock at the target was not granted.",
        "Wait for its holder or end it; the next run tries again. `lock_timeout` of the target says how long."),
    Code("TGT-111", "A target's file is no database that the installed version can read, or is damaged.",
        "Install the version of the database's driver that has written it, restore the file, or name another one."),
    Code("TGT-112", "Somebody else has written to a table of a lake each time that a run wrote to it.",
        "A run does its work again some times. Nothing of it is visible; let the others pause while the channel runs."),
    Code("TGT-113", "A lake has no table of a name that the channel has there.",
        "Was it dropped or renamed there? `ddlrepl refresh --table` makes it again."),
    Code("TGT-114", "A table of a lake was taken back to an earlier state, or made again, by somebody else.",
        "`ddlrepl refresh --table` loads it again; or take it forward to the snapshot that the message names."),
    Code("TGT-115", "A metadata file of a lake's table is missing in its warehouse.",
        "Did somebody remove files there? Restore it, or drop the table's entry and load the table again."),
    Code("TGT-116", "The REST server of a lake's catalog can't change several tables at one moment, or take a new one.",
        "Take a server that can (docs/lakehouse.md), a warehouse in which it takes tables, or a JDBC catalog."),
    Code("TGT-120", "The target refuses rows that a refresh loads.",
        "The message has the reason; the next run starts the refresh over. The target's table is as it was."),
    Code("TGT-121", "The key can't be created on the rows that a refresh has loaded.",
        "The next run starts the refresh over; correct rows that the message names. The target's table is as it"
        " was."),
    Code("TGT-131", "A target refuses a sequence.",
        "Rename or drop what is in the way there; the next cycle tries again."),
    Code("TGT-132", "The role may not write a sequence of the target.",
        "Make the target's role the owner of the sequence and of its table."),
    Code("TGT-133", "The role may not read and set a sequence of the target.",
        "GRANT SELECT, UPDATE ON SEQUENCE to it, or make it the owner."),
    Code("TGT-134", "A sequence of the target with that name belongs to something else.",
        "Rename or drop the target's, or leave the source's out (`db_sequence`)."),
    Code("TGT-180", "A comparison can't put rows of the source, as `transform` gives them, into the target.",
        "Let the function give what the columns take; the role needs TEMPORARY on the database."),
    Code("TGT-182", "Rows that differ can't be written one by one.",
        "`ddlrepl refresh --table` with this table loads it whole."),
)
# fmt: on
