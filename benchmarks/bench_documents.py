"""How long an edit with its proof takes, beside what other ways take for a whole file.

`make bench-documents` prints one row a way and size: CPU milliseconds, the best of all
runs within a while. An edit of ours is counted with its proof (a second parse, and the
comparison of the trees) on a file that was parsed before; the others read and write the
whole file and prove nothing.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterator
from functools import partial

import yaml
from ruamel.yaml import YAML

from fleetsync.documents import Append, Dialect, Edit, Path, Remove, Set, Value, Where, parse

SIZES = (60_000, 1_000_000)
LIMIT = 40.0
"""Milliseconds that an edit of a 60 KB file may take."""

PROVIDER: Path = ("providers", "anvil-1", "models")
ALIAS: Value = {"id": "llm.new", "contextWindow": 393216, "maxTokens": 4096, "input": ["text"]}
EDITS: dict[str, Edit] = {
    "set": Set((*PROVIDER, Where("id", "m4"), "contextWindow"), 393216),
    "append": Append(PROVIDER, ALIAS),
    "remove": Remove((*PROVIDER, Where("id", "m4"))),
}


def catalog(size: int) -> dict[str, object]:
    """A client's file with as many providers as give about `size` bytes of JSON, which are
    five eighths of it as YAML."""
    models = [
        {
            "id": f"m{number}", "name": f"Model {number}", "contextWindow": 131072,
            "maxTokens": 8192, "reasoning": True, "input": ["text", "image"],
            "cost": {"input": 0.5, "output": 1.25, "cacheRead": 0, "cacheWrite": 0},
        }
        for number in range(8)
    ]
    provider = {"baseUrl": "https://router.example.net/v1", "apiKey": "$KEY", "models": models}
    count = size // len(json.dumps({"anvil-1": provider}, indent=2)) or 1
    return {"providers": {f"anvil-{number}": provider for number in range(count)}}


def best(run: Callable[[], object], seconds: float = 1.5) -> float:
    """CPU milliseconds of the fastest run within `seconds`."""
    times: list[float] = []
    while sum(times) < seconds:
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times) * 1000


def ours(data: bytes, dialect: Dialect) -> Iterator[tuple[str, float]]:
    """Our parse alone, each edit on a parsed file, and what masking takes."""
    document = parse(data, dialect)
    yield "parse", best(lambda: parse(data, dialect))
    for name, edit in EDITS.items():
        yield f"{name} with proof", best(partial(document.edit, (edit,)))
    yield "spans to mask", best(lambda: document.secret_spans((), ()))


def ruamel_round_trip(text: str) -> str:
    """Load and dump with comments and quotes kept, as a careful tool would."""
    reader = YAML()
    reader.preserve_quotes = True
    out = io.StringIO()
    reader.dump(reader.load(text), out)
    return out.getvalue()


def others(text: str, written: str) -> Iterator[tuple[str, float]]:
    """The whole file through the libraries that rewrite it."""
    yield "json.loads + dumps", best(lambda: json.dumps(json.loads(text), indent=2))
    yield "ruamel round trip", best(lambda: ruamel_round_trip(written))


def main() -> None:
    """Print the table; say where an edit of 60 KB takes longer than it may."""
    slow = []
    for size in SIZES:
        text = json.dumps(catalog(size), indent=2)
        longer = json.loads(json.dumps(catalog(size * 8 // 5)))
        written = yaml.safe_dump(longer, sort_keys=False)
        rows = [("JSON, ours", *row) for row in ours(text.encode(), Dialect.JSON_COMMENTS)]
        rows += [("YAML, ours", *row) for row in ours(written.encode(), Dialect.YAML)]
        rows += [("others", *row) for row in others(text, written)]
        print(f"\n{len(text):,} bytes of JSON, {len(written):,} bytes of YAML: CPU milliseconds")
        for who, what, milliseconds in rows:
            print(f"  {who:12}{what:20}{milliseconds:10.1f}")
            if size == SIZES[0] and what.endswith("proof") and milliseconds > LIMIT:
                slow.append(f"{who} {what}")
    print(f"\nover {LIMIT:.0f} ms at 60 KB: {', '.join(slow) or 'none'}")


if __name__ == "__main__":
    main()
