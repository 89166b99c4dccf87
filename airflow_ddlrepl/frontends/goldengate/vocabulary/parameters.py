"""This module lists GoldenGate's parameters, with what becomes of each here."""

from __future__ import annotations

from airflow_ddlrepl.frontends.findings import Entry, Fate, entries, taken

_HERE = "connections, trail and runs are those of the channel file"
_REPORTS = "`ddlrepl status` and Airflow report runs"
TUNING = "it tunes GoldenGate's own processes; the rows and statements stay the same"
_DEFAULT = "it says what is done here anyway"
CODE = "it runs code of its own, and nothing runs that here: do it in a task of your DAG, or in `transform`"
_LOADS = "it is about an initial load or about files: `ddlrepl activate` and `ddlrepl refresh` load tables here"
_CONFLICTS = (
    "a row that is not as expected suspends its table here: answer such conflicts by `conflicts` of the channel"
)

_TAKEN = taken(
    "EXTRACT REPLICAT DDL DDLOPTIONS DDLSUBST DDLERROR TABLE MAP TABLEEXCLUDE MAPEXCLUDE SCHEMAEXCLUDE SOURCECATALOG",
    "GETINSERTS IGNOREINSERTS GETUPDATES IGNOREUPDATES GETDELETES IGNOREDELETES GETTRUNCATES IGNORETRUNCATES",
    "INSERTALLRECORDS NOINSERTALLRECORDS EXCLUDEWILDCARDOBJECTSONLY USEANSISQLQUOTES NOUSEANSISQLQUOTES",
)
_SAFE = {
    **entries(
        Fate.SAFE,
        _HERE,
        "USERID USERIDALIAS SOURCEDB TARGETDB LOGMININGUSER USERIDDEFAULT EXTTRAIL RMTTRAIL RMTHOST RMTHOSTOPTIONS",
        "RMTFILE EXTFILE ENCRYPTTRAIL DECRYPTTRAIL ENCRYPTION SETENV GETENV CHECKPOINTTABLE NODUPMSGSUPPRESSION",
        "TRAILCHARSET TRAILBYTEORDER TRAILCHARSETASCII TRAILCHARSETEBCDIC TRAILVERSION DOMAIN CHARSET PARAMETERS",
        "CHECKPARAMS MACROCHAR NOLIST LIST RMTBATCH VAM VAMCOMPATIBILITY LOGSOURCE MINE",
        "NOENCRYPTTRAIL BLOBMEMORY OUTPUTFILEUMASK",
        "FETCHUSERID FETCHUSERIDALIAS MGRSERVNAME USEIPV4 USEIPV6 CRYPTOENGINE ALLOWOUTPUTDIR TRAIL_SEQLEN_9D",
        "TRAILCHARSETUNICODE NAMECCSID DSOPTIONS DDLRULEHINT GGSCHEMA DDLTABLE MARKERTABLE HISTORYTABLE",
        "DDLERRORTABLE",
    ),
    **entries(
        Fate.SAFE,
        _REPORTS,
        "REPORT REPORTCOUNT REPORTROLLOVER STATOPTIONS DISCARDFILE NODISCARDFILE DISCARDROLLOVER WARNLONGTRANS",
        "WARNRATE REPORTBANNER SHOWSYNTAX TRACE TRACE2 TLTRACE SYSLOG LAGREPORT LAGSTATS MONITORING REPORTFETCH",
        "REPORTDETAIL CMDTRACE HEARTBEATTABLE ENABLE_HEARTBEAT_TABLE DISABLE_HEARTBEAT_TABLE ENABLEMONITORING",
        "WARNDISCARDS NOTRACETABLE ENABLECDRCONFLICTSTATS ROLLOVER",
    ),
    **entries(
        Fate.SAFE,
        TUNING,
        "TRANLOGOPTIONS DBOPTIONS FETCHOPTIONS WILDCARDRESOLVE DYNAMICRESOLUTION NODYNAMICRESOLUTION CACHEMGR",
        "FLUSHSECS FLUSHCSECS EOFDELAY EOFDELAYCSECS CHECKPOINTSECS",
        "NUMFILES ALLOCFILES MAXSQLSTATEMENTS MAXTRANSOPS GROUPTRANSOPS BATCHSQL NOBATCHSQL BR BULKLOAD",
        "THREADOPTIONS",
        "COORDINATED TCPSOURCETIMER NOTCPSOURCETIMER SPLIT_TRANS_RECS MAX_PARALLELISM MIN_PARALLELISM CHUNK_SIZE",
        "MIN_APPLY_PARALLELISM MAX_APPLY_PARALLELISM APPLY_PARALLELISM MAP_PARALLELISM LOOK_AHEAD_TRANSACTIONS",
        "COMMIT_SERIALIZATION PARTIALJSON FUNCTIONSTACKSIZE MAXGROUPS RETRYDELAY INSERTAPPEND NOINSERTAPPEND",
        "TRANSMEMORY MAXFETCHSTATEMENTS LOBMEMORY BINARYCHARS PASSTHRU NOPASSTHRU CACHE_SIZE RECOVERYOPTIONS",
        "COORDTIMER COORDSTATINTERVAL TRANSACTIONTIMEOUT PTKCAPTUREPROCSTATS PTKMONITORFREQUENCY XAGENABLE",
        "MONITORING_HEARTBEAT_TIMEOUT USE_TRAILDEFS HANDLETPKUPDATE BATCHERRORMODE USEDEDICATEDCOORDINATIONTHREAD",
        "",
    ),
    **entries(
        Fate.SAFE,
        "layouts and keys of tables come from the log and from the databases' catalogs",
        "ASSUMETARGETDEFS SOURCEDEFS TARGETDEFS OVERRIDE MAPINVISIBLECOLUMNS NOMAPINVISIBLECOLUMNS LOGALLSUPCOLS",
        "UPDATERECORDFORMAT NOCOMPRESSDELETES COMPRESSDELETES NOCOMPRESSUPDATES COMPRESSUPDATES GETUPDATEBEFORES",
        "IGNOREUPDATEBEFORES INCLUDEUPDATEBEFORES GETBEFORECOLS ALLOWNONVALIDATEDKEYS NOALLOWNONVALIDATEDKEYS",
        "ALLOWINVISIBLEINDEXKEYS EXCLUDEHIDDENCOLUMNS DEFAULTCATALOG ALLOWNOOPUPDATES",
        "NOALLOWNOOPUPDATES APPLYNOOPUPDATES",
    ),
    **entries(
        Fate.SAFE,
        _DEFAULT,
        "GETAPPLOPS NOHANDLECOLLISIONS NOOVERRIDEDUPS NOINSERTMISSINGUPDATES NOINSERTDELETES NOINSERTUPDATES",
        "NOUPDATEDELETES NOUPDATEINSERTS NOSPACESTONULL NOTRIMSPACES NOTRIMVARSPACES NOALLOWDUPTARGETMAP",
        "NOMAPALLCOLUMNS NOBINARYCHARS PRESERVETARGETTIMEZONE ALLOWDUPTARGETMAP",
    ),
    **entries(
        Fate.SAFE,
        "it is of the Manager; Airflow starts runs, and a channel cleans its trail itself",
        "PORT DYNAMICPORTLIST AUTOSTART AUTORESTART PURGEOLDEXTRACTS PURGEDDLHISTORY PURGEMARKERHISTORY ACCESSRULE",
        "PURGEOLDTASKS LAGREPORTHOURS LAGREPORTMINUTES",
        "LAGINFO LAGINFOMINUTES LAGINFOHOURS LAGINFOSECONDS LAGCRITICAL LAGCRITICALMINUTES LAGCRITICALHOURS",
        "LAGCRITICALSECONDS DOWNREPORT DOWNREPORTMINUTES DOWNREPORTHOURS DOWNCRITICAL UPREPORT UPREPORTMINUTES",
        "UPREPORTHOURS BOOTDELAYMINUTES STARTUPVALIDATIONDELAY STARTUPVALIDATIONDELAYCSECS USETHREADS CHECKMINUTES",
        "DYNAMICPORTREASSIGNDELAY THRESHOLD",
    ),
}
_ATTENTION = {
    **entries(
        Fate.ATTENTION,
        "a time with a time zone arrives as the same moment, whatever zone a session has: nothing is to be set",
        "SOURCETIMEZONE",
    ),
    **entries(
        Fate.ATTENTION,
        "names without quotes are in any case, and those in quotes are as written: look whether each name still means"
        " its table",
        "NAMEMATCHEXACT NAMEMATCHIGNORECASE NAMEMATCHNOWARNING ENABLECATALOGNAMES",
    ),
    **entries(
        Fate.ATTENTION,
        "blanks at the end of a char column stay when the target's column is varchar: make it char there, or trim it"
        " by `transform`",
        "TRIMSPACES",
    ),
    **entries(
        Fate.ATTENTION,
        "a column of the target that the source lacks gets its default: compare the tables by `ddlrepl compare`",
        "MAPALLCOLUMNS",
    ),
    **entries(
        Fate.ATTENTION, "changes arrive with the next cycle: set `schedule` of the channel", "DEFERAPPLYINTERVAL"
    ),
}
_REFUSED = {
    **entries(
        Fate.REFUSED,
        "rows or values would differ from GoldenGate's, and nothing does the same here: take it out of the file, and"
        " make the change by `transform` or `colmap`",
        "INSERTDELETES INSERTUPDATES UPDATEDELETES UPDATEINSERTS COLMATCH SPACESTONULL TRIMVARSPACES REPLACEBADCHAR",
        "REPLACEBADNUM SOURCECHARSET DECRYPTCOLUMNS GENERATED_COLUMNS VARWIDTHNCHAR CHARMAP CHARSETCONVERSION",
        "ASCIITOEBCDIC EBCDICTOASCII SESSIONCHARSET Y2KCENTURYADJUSTMENT",
        "HAVEUDTWITHNCHAR",
        "COLCHARSET ATTRCHARSET",
    ),
    **entries(
        Fate.REFUSED,
        _CONFLICTS,
        "HANDLECOLLISIONS OVERRIDEDUPS INSERTMISSINGUPDATES REPERROR SQLDUPERR ERROR_HANDLING",
        "COMPARECOLS REPFETCHEDCOLOPTIONS FILTERDUPS NOFILTERDUPS RESTARTCOLLISIONS ABORTDISCARDRECS MAXDISCARDRECS",
    ),
    **entries(
        Fate.REFUSED,
        "rows that a target refuses suspend their table, and go into no other one: read them by `ddlrepl errors`",
        "MAPEXCEPTION",
    ),
    **entries(
        Fate.REFUSED,
        "changes of applications are captured all the same: name their sessions in `capture: {ignore_sessions: …}`",
        "IGNOREAPPLOPS",
    ),
    **entries(
        Fate.REFUSED,
        "changes of a tag or a process are not told apart: `capture: {ignore_sessions: …}` leaves out sessions by"
        " origin, name or role (docs/both_directions.md)",
        "EXCLUDETAG INCLUDETAG TRACETABLE",
    ),
    **entries(
        Fate.REFUSED,
        "a channel replicates one database, and names have no catalogs: write a channel for each database",
        "TARGETCATALOG CATALOGEXCLUDE",
    ),
    **entries(
        Fate.REFUSED,
        "values of sequences do not go with rows: write `db_sequence` in the channel file (docs/sequences.md)",
        "SEQUENCE SEQUENCEEXCLUDE GETSEQFLUSH FLUSHSEQUENCE",
    ),
    **entries(
        Fate.REFUSED,
        "a process would begin or end there, and a channel goes on: take it out, and use `ddlrepl cutover` or `rewind`",
        "END BEGIN",
    ),
    **entries(
        Fate.REFUSED,
        CODE,
        "SQLEXEC CUSEREXIT EVENTACTIONS SHELL JAVAWRITER CUSEREXITEXT JAVAUSEREXIT FILEEXTRACT CUSTOMPARAMETERS",
        "PROCEDURE EXCLUDEPROCEDURE",
    ),
    **entries(
        Fate.REFUSED,
        _LOADS,
        "SOURCEISTABLE SPECIALRUN RMTTASK GENLOADFILES FORMATASCII FORMATSQL FORMATXML FORMATLOCAL EXTRACTISTABLE",
        "SOURCEISFILE TARGETISFILE DEFSFILE DEFERSTART NOHEADERS",
    ),
}
PARAMETERS: dict[str, Entry] = {
    **_TAKEN,
    **_SAFE,
    **_ATTENTION,
    **_REFUSED,
    "GETREPLICATES": Entry(Fate.SAFE, "rows that a Replicat has written are captured here, too"),
    "IGNOREREPLICATES": Entry(
        Fate.REFUSED,
        "rows that a Replicat has written are captured here, and could return: write `capture: {ignore_sessions:"
        ' {names: ["ddlrepl*"]}}` (docs/both_directions.md)',
    ),
}
"""Every parameter that is known, with its fate; those without one are taken."""

COMMANDS = frozenset((
    "ADD", "ALTER", "CLEANUP", "CREATE", "DBLOGIN", "DELETE", "DUMPDDL", "EDIT", "FC", "GGSCI", "HELP", "INFO", "KILL",
    "LAG", "MININGDBLOGIN", "OBEY", "REFRESH", "REGISTER", "SEND", "SET", "START", "STATS", "STATUS", "STOP",
    "SYNCHRONIZE", "UNREGISTER", "UPGRADE", "VERSIONS", "VIEW", "ADMINCLIENT", "CONNECT", "ENABLE", "DISABLE",
))  # fmt: skip
"""The first words of commands of GGSCI and the Admin Client, which are no parameters."""

SECRET = frozenset(("USERID", "RMTHOST", "RMTHOSTOPTIONS", "SOURCEDB", "TARGETDB", "LOGMININGUSER", "ENCRYPTTRAIL",
                    "DECRYPTTRAIL", "TRANLOGOPTIONS", "DBOPTIONS"))  # fmt: skip
"""Parameters in which a password or a secret may stand: nothing of what follows them is shown."""

TERMINATED = frozenset(("TABLE", "MAP", "SEQUENCE"))
"""Parameters that end with `;` and no sooner."""

BY_CLAUSES = frozenset(("DDL", "DDLOPTIONS", "DDLSUBST", "DDLERROR", "TABLEEXCLUDE", "MAPEXCLUDE", "SCHEMAEXCLUDE"))
"""Parameters that go on in the next line when a word of a clause begins it."""
