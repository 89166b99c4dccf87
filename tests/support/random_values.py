"""Random values of PostgreSQL's built-in types, as the text their input functions take. All choices come from `rng`."""

from __future__ import annotations

import ipaddress
import json
import random
from collections.abc import Callable, Sequence

from tests.postgres.log.test_capture_range_types import VALUES

Make = Callable[[random.Random], str]
LONG = 0.06  # how often a value is long enough to be stored out of line
PLANES = [
    *[(0x1, 0x7E), (0x7F, 0xFF), (0x100, 0x7FF), (0x800, 0xD7FF), (0xE000, 0xFFFF), (0xFFFA, 0xFFFF)],
    *[(0xFFFD, 0x10002), (0x1F300, 0x1F6FF), (0x10000, 0x10FFFF), (0x10FFFA, 0x10FFFF), (0x200B, 0x202E)],
]
AWKWARD = [
    "",
    " ",
    "\\",
    "\\N",
    "\\.",
    "'",
    '"',
    "NULL",
    "null",
    "{}",
    "\t",
    "\n",
    "\r\n",
    "%s",
    "\u0085",
    "\ufeff",
    "{,}",
]
DATES = ["infinity", "-infinity", "4713-01-01 BC", "0001-12-31 BC", "0001-01-01", "1582-10-10", "2000-02-29"]
DATES += ["9999-12-31", "10000-01-01", "99999-12-31", "1999-12-31", "2000-01-01"]
ZONES = ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Monrovia", "UTC"]
SHIFTS = [
    "2026-03-29 02:30:00",
    "2026-10-25 02:30:00",
    "2026-11-01 01:30:00",
    "1883-11-18 12:03:58",
    "1972-01-07 00:44",
]


def integer(bits: int) -> Make:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1

    def make(rng: random.Random) -> str:
        return str(rng.choice([0, 1, -1, low, high, low + 1, rng.randint(low, high), rng.randint(-9, 9)]))

    return make


def unsigned(bits: int) -> Make:
    def make(rng: random.Random) -> str:
        return str(rng.choice([0, 1, 3, (1 << bits) - 1, 1 << bits - 1, rng.randrange(1 << bits)]))

    return make


def number(rng: random.Random, limit: int = 4000) -> str:
    """numeric: thousands of digits, scales that end in zeros, the special values."""
    sign = rng.choice(["", "-"])
    digits = "".join(rng.choices("0123456789", k=rng.choice([1, 2, 4, 5, 8, 17, 40])))
    scale = "".join(rng.choices("0009", k=rng.choice([0, 0, 1, 3, 4, 5, 12])))
    plain = f"{sign}{digits}" + (f".{scale}" if scale else "")
    if rng.random() < LONG:
        return (
            sign + "".join(rng.choices("0123456789", k=rng.randrange(1, limit))) + "." + "7" * rng.randrange(1, limit)
        )
    near = ["NaN", "Infinity", "-Infinity", "0", "-0.00", "1", "1.0", "1.00", "9999", "10000", "0.0001", "1e-16383"]
    return rng.choice([plain, plain, plain, rng.choice(near), f"{sign}{digits}e{rng.randrange(-300, 300)}"])


def real(single: bool) -> Make:
    least, most = ("1e-45", "3.4028235e38") if single else ("5e-324", "1.7976931348623157e308")
    normal = "1.1754942e-38" if single else "2.2250738585072011e-308"
    fixed = ["NaN", "Infinity", "-Infinity", "0", "-0", least, f"-{least}", most, f"-{most}", normal, "0.1"]

    def make(rng: random.Random) -> str:
        exponent = rng.randrange(-37, 38) if single else rng.randrange(-300, 300)
        return rng.choice([rng.choice(fixed), repr(rng.gauss(0, 1)), f"{rng.random()!r}e{exponent}"])

    return make


def text(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return rng.choice(AWKWARD)
    size = rng.randrange(2000, 9000) if rng.random() < LONG else rng.randrange(1, 12)
    letters = (rng.randint(*rng.choice(PLANES)) for _ in range(size))
    return "".join(chr(x) for x in letters if not 0xD800 <= x <= 0xDFFF)


def short(of: Make, size: int) -> Make:
    """Cut to so many bytes, between two characters."""
    return lambda rng: of(rng).encode()[:size].decode(errors="ignore")


def octets(rng: random.Random) -> str:
    every = bytes(range(256))
    size = rng.randrange(2000, 9000) if rng.random() < LONG else rng.randrange(20)
    return "\\x" + rng.choice([every, rng.randbytes(size), b"\\" * size, b"\0" * size]).hex()


def json_value(rng: random.Random, depth: int = 0) -> object:
    kind = rng.randrange(8 if depth < 3 else 5)
    if kind > 4:
        many = rng.randrange(4)
        if kind == 5:
            return [json_value(rng, depth + 1) for _ in range(many)]
        return {short(text, 20)(rng).replace("\0", ""): json_value(rng, depth + 1) for _ in range(many)}
    return [None, rng.random() < 0.5, rng.choice([0, -1, 1e300, 10**30, 0.1, 1.50]), text(rng), rng.randrange(99)][kind]


def json_text(rng: random.Random) -> str:
    """Text that stays as it is: duplicate keys, white space, escapes, numbers in every spelling."""
    odd = [' {"a":1 ,"a" : 2,\n\t"a":null} ', '"\\u0000"', "1.50E+02", "-0", "[ ]", '"\\ud83d\\ude00"', "\r\n null"]
    spaced = json.dumps(json_value(rng), indent=rng.choice([None, 0, 3]), ensure_ascii=rng.random() < 0.5)
    return rng.choice([rng.choice(odd), spaced, spaced])


def jsonb(rng: random.Random) -> str:
    odd = ["1.50", "1e5", "-0", "0.00", "1e-300", "9" * 200, '{"b":1,"a":2,"b":3}', '""', "[]", "{}", "null"]
    return rng.choice([rng.choice(odd), json.dumps(json_value(rng)), json.dumps(json_value(rng), ensure_ascii=False)])


def day(rng: random.Random) -> str:
    year, era = rng.choice(
        [(rng.randrange(1, 4712), " BC"), (rng.randrange(1, 294276), ""), (rng.randrange(1990, 2040), "")]
    )
    return rng.choice([rng.choice(DATES), f"{year:04}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}{era}"])


def clock(rng: random.Random) -> str:
    made = f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}.{rng.randrange(10**6):06}"
    return rng.choice(["00:00:00", "24:00:00", "23:59:59.999999", made, made])


def moment(rng: random.Random) -> str:
    found, _, era = day(rng).partition(" ")
    if "infinity" in found:
        return found
    at = clock(rng)
    return f"{found} {'00:00:00' if at.startswith('24') else at}{' ' + era if era else ''}"


def zoned(rng: random.Random) -> str:
    found = rng.choice([rng.choice(SHIFTS), moment(rng)])
    if "infinity" in found:
        return found
    when, _, era = found.partition(" BC")
    zone = rng.choice([rng.choice(ZONES), "+05:45", "-03:30", "+15:59"])
    return f"{when} {zone}{' BC' if ' BC' in found else ''}" if era == "" else found


def interval(version: int) -> Make:
    fixed = [
        "0",
        "-178000000 years",
        "178956970 years 7 mons",
        "-2147483648 days",
        "2147483647 days",
        "1 mon",
        "30 days",
    ]
    fixed += ["720:00:00", "-00:00:00.000001", "1 mon -30 days", "2562047787:00:54.775807"]
    fixed += ["infinity", "-infinity"] if version >= 17 else []

    def make(rng: random.Random) -> str:
        months, days, seconds = (rng.randint(-99, 99) for _ in range(3))
        mixed = f"{months} mons {days} days {seconds}.{rng.randrange(10**6):06} secs"
        return rng.choice([rng.choice(fixed), mixed, mixed])

    return make


NETWORKS: list[tuple[int, type[ipaddress.IPv4Network] | type[ipaddress.IPv6Network]]] = [
    (32, ipaddress.IPv4Network),
    (128, ipaddress.IPv6Network),
]


def network(strict: bool) -> Make:
    def make(rng: random.Random) -> str:
        bits, kind = rng.choice(NETWORKS)
        length = rng.choice([0, 1, bits - 1, bits, rng.randrange(bits + 1)])
        address = rng.getrandbits(bits)
        if strict:
            return str(kind((address >> (bits - length) << (bits - length), length)))
        return f"{kind((address, bits)).network_address}/{length}"

    return make


def bits(least: int, most: int) -> Make:
    return lambda rng: "".join(rng.choices("01", k=rng.randint(least, most)))


def hexes(count: int, separator: str) -> Make:
    return lambda rng: separator.join(
        f"{b:02x}" for b in rng.choice([rng.randbytes(count), bytes(count), b"\xff" * count])
    )


def pair(rng: random.Random) -> str:
    return f"({real(False)(rng)},{real(False)(rng)})"


def finite(rng: random.Random) -> str:
    return repr(rng.choice([0.0, 1.0, -1.5, rng.gauss(0, 1e6), 5e-324, 1e300]))


def points(rng: random.Random, least: int = 1) -> str:
    return ",".join(pair(rng) for _ in range(rng.randrange(least, least + 5)))


def snapshot(rng: random.Random) -> str:
    low, size = rng.randrange(3, 1 << 40), rng.randrange(1, 90)
    going = sorted(rng.sample(range(low, low + size), rng.randrange(size))) if rng.random() < 0.8 else []
    return f"{low}:{low + size}:{','.join(map(str, going))}"


def lexeme(rng: random.Random) -> str:
    word = short(text, 40)(rng).replace("\0", "") or "x"
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


def tsvector(rng: random.Random) -> str:
    def place() -> str:
        return str(rng.choice([1, 16383, rng.randrange(1, 16383)])) + rng.choice(["", "A", "B", "C", "D"])

    many = rng.choice([0, 1, 3, 3, 400 if rng.random() < LONG else 2])
    return " ".join(lexeme(rng) + rng.choice(["", ":" + ",".join(place() for _ in range(3))]) for _ in range(many))


def tsquery(rng: random.Random, depth: int = 0) -> str:
    if depth > 3 or rng.random() < 0.4:
        return lexeme(rng) + rng.choice(["", ":*", ":AB", ":*D"])
    if rng.random() < 0.2:
        return f"!({tsquery(rng, depth + 1)})"
    return f"({tsquery(rng, depth + 1)} {rng.choice(['&', '|', '<->', '<7>', '<0>'])} {tsquery(rng, depth + 1)})"


def ranged(ordered: Callable[[random.Random], Sequence[str]]) -> Make:
    """Ranges over the values that `ordered` gives in ascending order."""

    def make(rng: random.Random) -> str:
        values = ordered(rng)
        at = rng.randrange(len(values) - 1)
        low, high = values[at], values[rng.randrange(at, len(values))]
        low, high = (f'"{low}"' if rng.random() < 0.9 else ""), (f'"{high}"' if rng.random() < 0.9 else "")
        return rng.choice(["empty", *[f"{rng.choice('[(')}{low},{high}{rng.choice('])')}"] * 6])

    return make


def multiranged(ordered: Callable[[random.Random], Sequence[str]]) -> Make:
    def make(rng: random.Random) -> str:
        parts = [ranged(ordered)(rng) for _ in range(rng.randrange(5))]
        return "{" + ",".join(parts) + "}"

    return make


def ordered_numbers(low: int, high: int, scale: int = 0) -> Callable[[random.Random], Sequence[str]]:
    def make(rng: random.Random) -> Sequence[str]:
        found = sorted({low, high - 1, 0, *(rng.randint(low, high - 1) for _ in range(3)), *range(5, 9)})
        return [f"{x}.{'0' * rng.randrange(1, scale)}" if scale else str(x) for x in found]

    return make


def ordered_days(tail: str) -> Callable[[random.Random], Sequence[str]]:
    def make(rng: random.Random) -> Sequence[str]:
        years = sorted(rng.sample(range(1, 9999), 4))
        found = ["-infinity", "4713-01-01%s BC", "0002-02-02%s BC", *(f"{y:04}-03-29%s" for y in years)]
        return [x.replace("%s", tail) for x in [*found, "20260-10-25%s", "infinity"]]

    return make


ORDERED = {
    "int4": ordered_numbers(-(1 << 31), (1 << 31) - 1),
    "int8": ordered_numbers(-(1 << 63), (1 << 63) - 1),
    "num": ordered_numbers(-(10**40), 10**40, 5),
    "date": ordered_days(""),
    "ts": ordered_days(" 02:30:00.000001"),
    "tstz": ordered_days(" 02:30:00.000001+05:45"),
}


def makers(version: int) -> dict[str, Make]:
    """By pg_type.typname: every base type whose input function takes text, and the ranges."""
    strings: dict[str, Make] = {"text": text, "varchar": text, "bpchar": short(text, 60), "refcursor": text}
    strings |= {"name": short(text, 63), "json": json_text, "jsonb": jsonb, "bytea": octets}
    strings |= {"xml": lambda rng: f"<a b='{rng.randrange(9)}'>{rng.choice(['ü→', '&lt;', '', '<c/>'])}</a>"}
    strings["char"] = lambda rng: rng.choice(["", " ", "\\", "'", chr(rng.randrange(1, 127))])
    numbers: dict[str, Make] = {"int2": integer(16), "int4": integer(32), "int8": integer(64), "numeric": number}
    numbers |= {"float4": real(True), "float8": real(False), "bool": lambda rng: rng.choice("tf")}
    numbers |= {"money": lambda rng: f"{rng.choice(['-', ''])}{rng.randrange(1 << 62) / 100:.2f}"}
    numbers |= {"oid": unsigned(32), "xid": unsigned(32), "cid": unsigned(32), "xid8": unsigned(64)}
    numbers["int2vector"] = lambda rng: " ".join(integer(16)(rng) for _ in range(rng.randrange(5)))
    numbers["oidvector"] = lambda rng: " ".join(unsigned(32)(rng) for _ in range(rng.randrange(5)))
    numbers["tid"] = lambda rng: f"({unsigned(32)(rng)},{unsigned(16)(rng)})"
    numbers["pg_lsn"] = lambda rng: f"{rng.getrandbits(32):X}/{rng.getrandbits(rng.choice([1, 32])):X}"
    times: dict[str, Make] = {"date": day, "time": clock, "timestamp": moment, "timestamptz": zoned}
    times |= {"timetz": lambda rng: clock(rng) + rng.choice(["+00", "-15:59:59", "+15:59", "+05:45"])}
    times |= {"interval": interval(version), "txid_snapshot": snapshot, "pg_snapshot": snapshot}
    shapes: dict[str, Make] = {"point": pair, "lseg": lambda rng: f"[{pair(rng)},{pair(rng)}]"}
    shapes |= {"box": lambda rng: f"{pair(rng)},{pair(rng)}", "polygon": lambda rng: f"({points(rng)})"}
    shapes |= {"path": lambda rng: rng.choice(["[{}]", "({})"]).format(points(rng))}
    shapes |= {"line": lambda rng: f"{{{rng.choice(['1', '-0.5'])},{finite(rng)},{finite(rng)}}}"}
    shapes |= {"circle": lambda rng: f"<{pair(rng)},{rng.choice(['0', 'Infinity', 'NaN', '1e-300', '7.25'])}>"}
    codes: dict[str, Make] = {"inet": network(False), "cidr": network(True), "bit": bits(1, 1), "varbit": bits(0, 77)}
    codes |= {"macaddr": hexes(6, ":"), "macaddr8": hexes(8, ":"), "uuid": hexes(16, "")}
    codes |= {
        "tsvector": tsvector,
        "tsquery": lambda rng: tsquery(rng) if rng.random() < 0.9 else "",
        "jsonpath": lambda rng: rng.choice(VALUES["jsonpath"]),
    }
    ranges = {f"{name}range": ranged(of) for name, of in ORDERED.items()}
    many = {f"{name}multirange": multiranged(of) for name, of in ORDERED.items()}
    return {**strings, **numbers, **times, **shapes, **codes, **ranges, **many}


def array(rng: random.Random, element: Make, delimiter: str) -> str:
    """Empty, with NULLs, of up to three dimensions, with bounds that do not begin at 1."""
    sizes = [rng.randrange(1, 4) for _ in range(rng.choice([1, 1, 1, 2, 3]))]
    if rng.random() < 0.15:
        return "{}"

    def level(depth: int) -> str:
        if depth == len(sizes):
            return "NULL" if rng.random() < 0.2 else _quoted(element(rng))
        return "{" + delimiter.join(level(depth + 1) for _ in range(sizes[depth])) + "}"

    lows = [rng.choice([0, -3, 5, 2000]) for _ in sizes]
    bounds = "".join(f"[{low}:{low + size - 1}]" for low, size in zip(lows, sizes, strict=True))
    return (f"{bounds}=" if rng.random() < 0.3 else "") + level(0)


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
