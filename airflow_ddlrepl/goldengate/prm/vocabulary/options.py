"""This module lists the options of parameters whose arguments are read one by one, with what becomes of each.

What stands there and is no option is refused: it may be a parameter whose line end is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from airflow_ddlrepl.notation.import_findings import TAKEN, Entry, Fate

_LEFT_OUT = "changes that it leaves out are captured here: write `capture: {{ignore_sessions: {{{}}}}}` (docs/{}.md)"
_USERS = _LEFT_OUT.format("roles: [NAME]", "postgresql")
_TAGS = _LEFT_OUT.format('names: ["ddlrepl*"]', "both_directions")
_ROWS = (
    "rows or values would differ from GoldenGate's, and nothing does the same here: take it out, or decide otherwise"
)


class Option(NamedTuple):
    """An option is a word of a parameter's arguments, what becomes of it, and how many values may follow it."""

    entry: Entry
    values: int


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a parameter are values, as a file's name, and then options with values of their own."""

    values: int
    options: dict[str, Option]


def _options(entry: Entry, *texts: str) -> dict[str, Option]:
    """Return the options in texts; a number behind a colon says how many values follow the word."""
    pairs = (word.partition(":") for text in texts for word in text.split())
    return {name: Option(entry, int(count or 0)) for name, _, count in pairs}


def _refused(why: str, *texts: str) -> dict[str, Option]:
    return _options(Entry(Fate.REFUSED, why), *texts)


_TRAIL = Arguments(
    1,
    _options(TAKEN, "MEGABYTES:1 MAXFILES:1 FORMAT RELEASE:1 LEVEL:1 OBJECTDEFS NOOBJECTDEFS PURGE APPEND SEQNO:1 RBA:1"
             " TRAILBYTEORDER:1 NATIVEENDIAN BIGENDIAN LITTLEENDIAN MULTIPLE SEQLEN_6D SEQLEN_9D"),
)  # fmt: skip
_LOGIN = Arguments(1, _options(TAKEN, "DOMAIN:1 ROLE SHARED SYSDBA"))
_TIMES = Arguments(
    0, _options(TAKEN, "AT:1 ON:1 EVERY:2 RECORDS SECONDS MINUTES HOURS SEC MIN HR RATE FREQUENCY:1 USETHREADS AFTER:1")
)
_INTEGRATED = _refused(
    "which changes a process of the database takes or applies is not said so here: choose them by TABLE, FILTER and"
    " `capture: {ignore_sessions: …}`, and conflicts by RESOLVECONFLICT",
    "IGNORE_TRANSACTION:1 INCLUDE_OBJECTS:1 GETREPLICATES:1 GETAPPLOPS:1 MAXIMUM_SCN:1 TIME_LIMIT:1",
    "TRANSACTION_LIMIT:1 MESSAGE_LIMIT:1 HANDLECOLLISIONS:1 REPERROR:1 ALLOW_DUPLICATE_ROWS:1",
    "RTRIM_ON_IMPLICIT_CONVERSION:1",
)
"""Parameters of the capture and apply processes of the database, as INTEGRATEDPARAMS sets them."""
_TRANLOG = {
    **_INTEGRATED,
    **_options(
        TAKEN,
        "ACTIVATIONIDPADLEN:1 DATABASEIDPADLEN:1 THREADPADLEN:1 SEQPADLEN:1 RESETLOGSIDPADLEN:1 ADGAPPLYCHECKFREQ:1",
        "ADGCRETRYCOUNT:1 ADGTIMEOUT:1 ALLOWTABLECOMPRESSION ALTARCHIVEDLOGFORMAT:1 ALTARCHIVELOGDEST:1 ALTLOGDEST:1",
        "PRIMARY INSTANCE:1 THREADID:1 ARCHIVEDLOGONLY ASMBUFSIZE:1 DBLOGREADERBUFSIZE:1 ASMUSER:1 ASMPASSWORD:2",
        "ASMUSERALIAS:1 DOMAIN:1 ENCRYPTKEY:1 ASYNCTRANSPROCESSING:1 BUFSIZE:1 CHECKPOINTRETENTIONTIME:1",
        "CHECKTABLELEVELSUPPLOG COMPLETEARCHIVEDLOGONLY NOCOMPLETEARCHIVEDLOGONLY COMPLETEARCHIVEDLOGTIMEOUT:1",
        "DB2APIRETRY:1 DB2ZV11COMPATIBILITYMODE DBLOGREADER DLFAILOVER_TIMEOUT:1 DISABLESOFTEOFDELAY",
        "INTEGRATEDPARAMS:1",
        "FAILOVERTARGETDESTID:1 FETCHLOBIFERROR FETCHPARTIALLOB FETCHINLINESFLOB FETCHPARTIALXML FETCHPARTIALJSON",
        "FORCEFETCHLOB HANDLEDLFAILOVER:1 STANDBY_WARNING:1 STANDBY_ABEND:1 LOGRETENTION:1 LOGSOURCE:1 MAXREADSIZE:1",
        "MAXWARNEOF:1 MAXAUTOCMTTRANSSIZE:1 MININGUSER:1 MININGPASSWORD:2 MININGUSERALIAS:1 SYSDBA MIXEDENDIAN:1",
        "MANAGECDCCLEANUP NOMANAGECDCCLEANUP MANAGESECONDARYTRUNCATIONPOINT NOMANAGESECONDARYTRUNCATIONPOINT",
        "PERFORMANCEPROFILE:1 PATHMAP:2 PREPAREFORUPGRADETOIE NOPREPAREFORUPGRADETOIE PURGEORPHANEDTRANSACTIONS",
        "NOPURGEORPHANEDTRANSACTIONS QUERYTIMEOUT:1 QUERYRETRYCOUNT:1 READQUEUESIZE:1 READTIMEOUT:1",
        "REQUIRELONGDATACAPTURECHANGES",
        "NOREQUIRELONGDATACAPTURECHANGES REDO_TRANSPORT_LAG_THRESHOLD:1 REDO_TRANSPORT_LAG_TIMEOUT:1 SKIPUNKNOWNEVENT",
        "SOURCE_OS_TIMEZONE:1 SUPPRESSNOOOPUPDATES:1 TRACKSCHEMACHANGES TRANSCLEANUPFREQUENCY:1 TSLOOKUPBEGINLRI",
        "TSLOOKUPENDLRI USENATIVEOBJSUPPORT NOUSENATIVEOBJSUPPORT USE_ROOT_CONTAINER_TIMEZONE USEPREVRESETLOGSID",
        "NOUSEPREVRESETLOGSID VALIDATEINLINESFLOB VERSIONCHECK:1 DICTIONARY_CACHE_SIZE:1",
        "IFILOCKSECONDS:1 LOB_CHUNK_SIZE:1 ALWAYSONREADONLYROUTING DISABLE_AUTO_CAPTURE NOGETCTASDML PAGESIZE:1",
        "NOIGNOREDATACAPTURECHANGES INCLUDEREGIONID INCLUDEREGIONIDWITHOFFSET NOFLUSH USELOGICALTIMESTAMP SETTAG:1",
    ),
    **_refused(_USERS, "EXCLUDEUSER:1 EXCLUDEUSERID:1"),
    **_refused(_TAGS, "EXCLUDETAG:9 INCLUDETAG:9 FILTERTAG:9"),
    **_refused(
        "a session is left out as a whole, and no single transaction: name it in `capture: {ignore_sessions: …}`",
        "EXCLUDETRANS:1 EXCLUDETRANSNAME:1",
    ),
    **_refused(
        _TAGS + "; a table of its own is left out by `exclude` of `source`",
        "FILTERTABLE:1",
    ),
    **_refused(_ROWS, "IGNOREDATACAPTURECHANGES IGNOREDIRECTLOADINSERTS INCLUDEAUX:1 GETCTASDML"),
    **_refused("tables are those of TABLE alone: list them there", "ENABLE_AUTO_CAPTURE"),
    **_refused("procedures that an application has called are not captured", "ENABLE_PROCEDURAL_REPLICATION:1"),
}  # fmt: skip
_DB = {
    **_INTEGRATED,
    **_options(
        TAKEN,
        "ALLOWUNUSEDCOLUMN NOALLOWUNUSEDCOLUMN CATALOGCONNECT NOCATALOGCONNECT CONNECTIONPORT:1 DECRYPTPASSWORD:1",
        "ENCRYPTKEY:1 DEFERREFCONST DISABLECOMMITNOWAIT DISABLELOBCACHING DRIVER:1 ENABLE_INSTANTIATION_FILTERING",
        "FETCHBATCHSIZE:1 FETCHCHECKFREQ:1 FETCHLOBS FETCHRETRYCOUNT:1 FETCHTIMEOUT:1 NOFETCHTIMEOUT HOST:1",
        "INTEGRATEDPARAMS:1 LOBBUFSIZE:1 LOBWRITESIZE:1 SESSIONPOOLMAX:1 SESSIONPOOLMIN:1 SESSIONPOOLINCR:1",
        "SHOWINFOMESSAGES SHOWWARNINGS SKIPTEMPLOB NOSKIPTEMPLOB SOURCE_DB_NAME:1 SPTHREAD NOSPTHREAD SUPPRESSTRIGGERS",
        "TDSPACKETSIZE:1 TRANSNAME:1 USEODBC USEREPLICATIONUSER XMLBUFSIZE:1 NOALLOWLOBDATATRUNCATE NOLIMITROWS",
        "MAXLOBKEYLEN:1 USEDATABASEENCODING SQLMODE:1 CONNECTIONTIMEOUT:1",
    ),
    **_refused(
        "what a Replicat writes has its replication origin for a tag, and none of your choice: captures leave it out by"
        ' `capture: {ignore_sessions: {origins: ["ddlrepl *"]}}` (docs/both_directions.md)',
        "SETTAG:1",
    ),
    **_refused(
        "triggers of the target never fire: what they would write has to come from the source's tables",
        "NOSUPPRESSTRIGGERS",
    ),
    **_refused(
        _ROWS,
        "ALLOWLOBDATATRUNCATE BINDCHARFORBITASCHAR EMPTYLOBSTRING:1 NOFETCHLOBS SUPPRESSTEMPORALUPDATES LIMITROWS",
        "ALLOWNONSTANDARDINTERVALDATA FORCE_XML_ESCAPE_CONVERSION",
    ),
}  # fmt: skip
_FETCH = {
    **_options(
        TAKEN,
        "FETCHPKUPDATECOLS NOFETCHPKUPDATECOLS USESNAPSHOT NOUSESNAPSHOT USELATESTVERSION NOUSELATESTVERSION USEKEY",
        "NOUSEKEY USEROWID NOUSEROWID SUPPRESSDUPLICATES MAXFETCHSTATEMENTS:1 FETCHEXTCOLUMNS",
    ),
    **_options(
        Entry(Fate.ATTENTION, "a value that the log lacks is read again, or its table waits: `ddlrepl status` says so"),
        "MISSINGROW:1 INCONSISTENTROW:1 NOFETCH",
    ),
}
OPTIONS: dict[str, Arguments] = {
    "TRANLOGOPTIONS": Arguments(0, _TRANLOG),
    "DBOPTIONS": Arguments(0, _DB),
    "FETCHOPTIONS": Arguments(0, _FETCH),
    "WILDCARDRESOLVE": Arguments(
        0,
        {
            **_options(TAKEN, "DYNAMIC"),
            **_refused("new tables that a wildcard matches join: leave them out by `exclude` of `source`", "IMMEDIATE"),
        },
    ),
    **dict.fromkeys(("EXTTRAIL", "RMTTRAIL", "EXTFILE", "RMTFILE"), _TRAIL),
    **dict.fromkeys(("USERIDALIAS", "FETCHUSERIDALIAS"), _LOGIN),
    **dict.fromkeys(("REPORT", "REPORTCOUNT", "REPORTROLLOVER", "DISCARDROLLOVER", "ROLLOVER"), _TIMES),
    "DISCARDFILE": Arguments(1, _options(TAKEN, "APPEND PURGE MEGABYTES:1 MAXBYTES:1 OWNER:1 PROGRAM:1 ROLLOVER")),
    "WARNLONGTRANS": Arguments(1, _options(TAKEN, "CHECKINTERVAL:1 CHECKINTERVALS:1 SKIPBOUNDED:0 USELASTREADTIME")),
    "STATOPTIONS": Arguments(
        0, _options(TAKEN, "REPORTDETAIL NOREPORTDETAIL REPORTFETCH NOREPORTFETCH RESETREPORTSTATS NORESETREPORTSTATS")
    ),
    "CHECKPOINTTABLE": Arguments(1, {}),
    "SOURCEDEFS": Arguments(1, _options(TAKEN, "OVERRIDE")),
    "TARGETDEFS": Arguments(1, _options(TAKEN, "OVERRIDE")),
    "CHARSET": Arguments(1, {}),
    "GROUPTRANSOPS": Arguments(1, {}),
    "MAXTRANSOPS": Arguments(1, {}),
    "UPDATERECORDFORMAT": Arguments(0, _options(TAKEN, "COMPACT FULL COMPRESSED NONE")),
    "SETENV": Arguments(1, {}),
    "GETENV": Arguments(1, {}),
}
"""Parameters whose arguments are read: the other ones have what they like, but for names of parameters."""

WITHOUT_ARGUMENTS = frozenset((
    "GETINSERTS", "IGNOREINSERTS", "GETUPDATES", "IGNOREUPDATES", "GETDELETES", "IGNOREDELETES", "GETTRUNCATES",
    "IGNORETRUNCATES", "INSERTALLRECORDS", "NOINSERTALLRECORDS", "EXCLUDEWILDCARDOBJECTSONLY", "USEANSISQLQUOTES",
    "NOUSEANSISQLQUOTES", "GETAPPLOPS", "IGNOREAPPLOPS", "GETREPLICATES", "IGNOREREPLICATES", "GETUPDATEBEFORES",
    "IGNOREUPDATEBEFORES", "ASSUMETARGETDEFS", "LOGALLSUPCOLS", "PASSTHRU", "NOPASSTHRU", "DYNAMICRESOLUTION",
    "NODYNAMICRESOLUTION", "NOCOMPRESSDELETES", "COMPRESSDELETES", "NOCOMPRESSUPDATES", "COMPRESSUPDATES",
    "ALLOWDUPTARGETMAP", "NOALLOWDUPTARGETMAP", "ALLOWNOOPUPDATES", "NOALLOWNOOPUPDATES", "SHOWSYNTAX", "LIST",
    "NOLIST", "TRIMSPACES", "NOTRIMSPACES", "NOHANDLECOLLISIONS", "HANDLECOLLISIONS", "PRESERVETARGETTIMEZONE",
    "NODISCARDFILE", "NOENCRYPTTRAIL", "CHECKPARAMS", "ENABLEMONITORING", "EXCLUDEHIDDENCOLUMNS", "MAPINVISIBLECOLUMNS",
    "NOMAPINVISIBLECOLUMNS", "ALLOWNONVALIDATEDKEYS", "NOALLOWNONVALIDATEDKEYS", "NOBATCHSQL", "INSERTAPPEND",
    "NOINSERTAPPEND",
))  # fmt: skip
"""Parameters behind which nothing stands."""

NAMED = frozenset((
    "USERID", "USERIDDEFAULT", "FETCHUSERID", "LOGMININGUSER", "SOURCEDB", "TARGETDB", "RMTHOST", "RMTHOSTOPTIONS",
    "GGSCHEMA", "DDLTABLE", "MARKERTABLE", "HISTORYTABLE", "DDLERRORTABLE", "HEARTBEATTABLE", "TRACETABLE", "DEFSFILE",
    "CUSEREXIT", "DOMAIN", "VAM", "SOURCECATALOG", "TARGETCATALOG", "CATALOGEXCLUDE", "DEFAULTCATALOG", "TRACE",
    "TRACE2", "MGRSERVNAME", "PROCEDURE", "GENLOADFILES", "CHARMAP", "ALLOWOUTPUTDIR",
))  # fmt: skip
"""Parameters whose first argument is a name of one's own, which may look like a parameter."""

ALSO_ARGUMENTS: dict[str, frozenset[str]] = {
    "TRACE": frozenset(("DDL",)),
    "TRACE2": frozenset(("DDL",)),
    "BATCHSQL": frozenset(("BATCHERRORMODE", "TRACE", "THREAD")),
    "USERID": frozenset(("DOMAIN",)),
    "LOGMININGUSER": frozenset(("DOMAIN",)),
    "RMTTASK": frozenset(("REPLICAT", "EXTRACT")),
    "CUSEREXIT": frozenset(("PASSTHRU", "INCLUDEUPDATEBEFORES")),
    "AUTOSTART": frozenset(("EXTRACT", "REPLICAT")),
    "AUTORESTART": frozenset(("EXTRACT", "REPLICAT")),
    "PURGEOLDTASKS": frozenset(("EXTRACT", "REPLICAT")),
    "REPERROR": frozenset(("REPORT",)),
    "BR": frozenset(("LIST",)),
}
"""Names of parameters that are words of another one's arguments, too, by that."""
