"""This module lists the options of TABLE and MAP, with what becomes of each here."""

from __future__ import annotations

from airflow_ddlrepl.goldengate.prm.vocabulary.parameters import CODE, PARAMETERS, TUNING
from airflow_ddlrepl.notation.import_findings import Entry, Fate, entries, taken

_LAYOUTS = "layouts and keys of tables come from the log and from the databases' catalogs"
MAP_OPTIONS: dict[str, Entry] = {
    **taken(
        "COLMAP COLS COLSEXCEPT FILTER WHERE KEYCOLS INSERTALLRECORDS NOINSERTALLRECORDS RESOLVECONFLICT COMPARECOLS"
    ),
    **entries(Fate.SAFE, TUNING, "THREAD THREADRANGE COORDINATED INSERTAPPEND NOINSERTAPPEND"),
    **entries(
        Fate.SAFE,
        _LAYOUTS,
        "DEF TARGETDEF GETBEFORECOLS MAPINVISIBLECOLUMNS NOMAPINVISIBLECOLUMNS FETCHCOLS FETCHCOLSEXCEPT FETCHMODCOLS",
        "FETCHMODCOLSEXCEPT FETCHBEFOREFILTER OVERRIDE",
    ),
    **entries(Fate.SAFE, "names follow MAPEXCLUDE and TABLEEXCLUDE", "NORENAME"),
    **{
        name: PARAMETERS[name]
        for name in (
            "NOHANDLECOLLISIONS", "NOTRIMSPACES", "NOTRIMVARSPACES", "NOMAPALLCOLUMNS", "ALLOWDUPTARGETMAP",
            "TRIMSPACES", "MAPALLCOLUMNS", "HANDLECOLLISIONS", "REPERROR", "TRIMVARSPACES", "MAPEXCEPTION",
        )
    },
    **entries(
        Fate.ATTENTION,
        "tokens are values of the trail, which nobody reads here: `extra` of target_tables has values of a change",
        "TOKENS",
    ),
    **entries(
        Fate.REFUSED,
        "rows or values would differ from GoldenGate's, and nothing does the same here: choose rows by `condition`, and"
        " make values by `transform`",
        "COLMATCH SQLPREDICATE PARTITION PARTITIONOBJID PARTITIONEXCLUDE ATTRCHARSET COLCHARSET CHARSET",
    ),
    **entries(
        Fate.REFUSED,
        "the MAP is left out: rows that a target refuses suspend the table, and go into no other one",
        "EXCEPTIONSONLY",
    ),
    **entries(Fate.REFUSED, CODE, "SQLEXEC EVENTACTIONS EXITPARAM"),
}  # fmt: skip
"""Options of TABLE and MAP."""
