"""The bundles on a host: what each holds, whether it is whole, which may go.

A bundle is the directory of one finished transaction, with the originals of what it
changed. Listing reads the manifests, verifying takes digests on the host: the contents
stay there. Only a rollback reads originals, sealed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fleetsync.documents import Dialect
from fleetsync.facts import FileFact, Question, Read
from fleetsync.outcome import BundleFileRow, BundleRow
from fleetsync.probe import Salts, ask
from fleetsync.redact import printable
from fleetsync.remote import Call, Reader, Record, Writer
from fleetsync.transaction import Problem, problems

DONE, UNDONE = "done", "undone"
UNDOES = "undoes"
"""The manifest's key for the transactions that this one takes back."""
DIALECT = "dialect."
"""The manifest's key, with a file's number, for the grammar it is read in."""
KEEP = 10
"""How many bundles of a host stay unless `prune` is told otherwise."""
DAY = 86400
_WHOLE = 1 << 30
"""Bytes up to which an original is hashed; mksh counts with 32 bits."""
UNTOLD = "not told"
"""Stands for a digest of a file that holds secrets, wherever people or records see it."""
_STORE = "store"
INTACT, DAMAGED, MISSING = "intact", "damaged", "missing"


@dataclass(frozen=True, slots=True)
class BundleFile:
    """One file of a bundle. Digests are "" where there was, or is, no file."""

    number: int
    target: str
    path: str
    real: str
    before: str
    after: str
    mode: int
    companion: str
    dialect: Dialect
    store: bool = False
    """it holds secrets: the digests are veiled, and nothing of it is ever read"""


@dataclass(frozen=True, slots=True)
class Bundle:
    """One transaction's directory. `written` is its manifest's time on the host's clock,
    in seconds; `meta` are the manifest's own lines."""

    transaction: str
    state: str
    written: int
    directory: str
    meta: tuple[tuple[str, str], ...]
    files: tuple[BundleFile, ...]

    def told(self, key: str) -> str:
        """What the manifest says of `key`, "" where it says nothing."""
        return dict(self.meta).get(key, "")

    @property
    def undoes(self) -> tuple[str, ...]:
        """The transactions that this one takes back."""
        return tuple(self.told(UNDOES).split())

    def original(self, file: BundleFile) -> str:
        """The path of a file's original."""
        return f"{self.directory}/old.{file.number}"

    def replacement(self, file: BundleFile) -> str:
        """The path of what replaced it."""
        return f"{self.directory}/new.{file.number}"


@dataclass(frozen=True, slots=True)
class Bundles:
    """All bundles of a host, the newest first; `clock` is the host's, in seconds; `salts`
    are those that the digests of stores are veiled with."""

    directory: str
    clock: int
    every: tuple[Bundle, ...] = ()
    salts: Salts = field(default_factory=Salts.fresh)

    def done(self) -> tuple[Bundle, ...]:
        """Those whose change stands, the newest first."""
        return tuple(one for one in self.every if one.state == DONE)


def read(reader: Reader) -> Bundles:
    """The bundles of a host. Raises HostError."""
    found = Bundles("", 0)
    salts = Call("fs_salts", (found.salts.first, found.salts.second))
    records = reader.call((Call("fs_host"), salts, Call("fs_bundles")))
    every = []
    for record in records:
        if record.tag == "state":
            found = replace(found, directory=record.fields[0], clock=int(record.fields[1]))
        elif record.tag == "bundle":
            every.append(_bundle(f"{found.directory}/txn", record))
    return replace(found, every=tuple(_in_order(every)))


def _in_order(every: Iterable[Bundle]) -> list[Bundle]:
    """The newest first also where a host's `ls` knows seconds only: what takes another
    back came after it."""
    found: list[Bundle] = []
    for one in every:
        at = len(found)
        while at and found[at - 1].written == one.written and (
            found[at - 1].transaction in one.undoes
        ):
            at -= 1
        found.insert(at, one)
    return found


def _bundle(directory: str, record: Record) -> Bundle:
    transaction, state, written = record.fields
    lines = [line.split("\t") for line in (record.body or b"").decode(
        "utf-8", "surrogateescape"
    ).split("\n")]
    meta = tuple((line[1], line[2]) for line in lines if line[0] == "M" and len(line) > 2)
    files = _files(lines, {key.removeprefix(DIALECT): value for key, value in meta})
    path = f"{directory}/{transaction}.{state}"
    if files is None and state in (DONE, UNDONE):
        state = DAMAGED
    return Bundle(transaction, state, int(written), path, meta, files or ())


def _files(
    lines: Sequence[Sequence[str]], dialects: Mapping[str, str]
) -> tuple[BundleFile, ...] | None:
    """The files that a manifest tells of, None where it is not whole."""
    rows = [line for line in lines if line[0] == "F"]
    if ["END"] not in lines or not all(len(row) > 9 for row in rows):
        return None
    try:
        return tuple(_file(row, dialects.get(row[1], "")) for row in rows)
    except ValueError:
        return None


def _file(line: Sequence[str], dialect: str) -> BundleFile:
    _, number, before, after, path, real, permission, _, companion, target, *mark = line
    return BundleFile(
        int(number), target, path, real, _named(before), _named(after),
        int(permission.partition(":")[0], 8), _named(companion), _dialect(dialect, path),
        mark == [_STORE],
    )


def _named(field: str) -> str:
    return "" if field == "-" else field


def _dialect(name: str, path: str) -> Dialect:
    """As recorded; else by the file's name. JSON5 reads every JSON, and an edit never
    makes a file richer than it is."""
    if name in Dialect.__members__:
        return Dialect[name]
    return Dialect.YAML if path.endswith((".yaml", ".yml")) else Dialect.JSON5


def question(path: str, *, store: bool, content: bool = True) -> Read:
    """How a file is read; of a store no more than its veiled digest."""
    return Read(path, content=content and not store, veiled=store)


def facts(
    reader: Reader, questions: Collection[Read], salts: Salts
) -> dict[Question, FileFact]:
    """Each question's one file. Raises HostError."""
    _, answers = ask(reader, questions, salts)
    return {
        question: answer[0]
        for question, answer in answers.items()
        if isinstance(answer, tuple) and answer and isinstance(answer[0], FileFact)
    }


def rows(reader: Reader, found: Bundles, chosen: Iterable[Bundle], *, digests: bool
         ) -> tuple[BundleRow, ...]:
    """The bundles as they are shown; with `digests` each original is hashed on the host."""
    every = tuple(chosen)
    asked = {
        (one.transaction, file.number): Read(
            one.original(file), cap=_WHOLE, content=False, veiled=file.store
        )
        for one in every for file in one.files if digests and file.before
    }
    known = facts(reader, frozenset(asked.values()), found.salts) if asked else {}
    answers = {key: known[question] for key, question in asked.items()}
    return tuple(_row(found.clock, one, answers) for one in every)


def _row(clock: int, one: Bundle, answers: dict[tuple[str, int], FileFact]) -> BundleRow:
    return BundleRow(
        identity=one.transaction,
        state=one.state,
        age=max(0, clock - one.written),
        operator=printable(one.told("operator")),
        run=printable(one.told("run")),
        generation=printable(one.told("generation")),
        undoes=one.undoes,
        directory=one.directory,
        files=tuple(_file_row(file, answers.get((one.transaction, file.number)))
                    for file in one.files),
    )


def _file_row(file: BundleFile, fact: FileFact | None) -> BundleFileRow:
    verdict = ""
    if fact is not None:
        verdict = INTACT if fact.sha256 == file.before else DAMAGED
        if not fact.exists:
            verdict = MISSING
    before, after = (UNTOLD if file.store and one else one for one in (file.before, file.after))
    size = fact.size if fact and not file.store else 0
    return BundleFileRow(
        file.target, file.path, file.real, before, after, f"{file.mode:04o}", size, verdict
    )


def is_good(row: BundleRow) -> bool:
    """Whether its change stands and no original is damaged or missing."""
    return row.state == DONE and all(file.verdict in ("", INTACT) for file in row.files)


def disposable(rows: Sequence[BundleRow], *, keep: int, seconds: int) -> tuple[BundleRow, ...]:
    """Which of a host's bundles, the newest first, may go: neither among the newest `keep`,
    nor younger than `seconds`, nor interrupted, nor the newest good one of a target."""
    finished = [row for row in rows if row.state in (DONE, UNDONE)]
    needed = set(_newest_good(rows))
    return tuple(
        row for row in finished[keep:] if row.age >= seconds and row.identity not in needed
    )


def _newest_good(rows: Iterable[BundleRow]) -> Iterator[str]:
    seen: set[str] = set()
    for row in filter(is_good, rows):
        targets = {file.target for file in row.files}
        if targets - seen:
            yield row.identity
        seen |= targets


@dataclass(frozen=True, slots=True)
class Pruned:
    """The transactions whose bundles are gone, and why others are not."""

    gone: tuple[str, ...]
    problems: tuple[Problem, ...]


def prune(writer: Writer, transactions: Sequence[str]) -> Pruned:
    """Remove these bundles, under the host's lock. Raises HostError."""
    if not transactions:
        return Pruned((), ())
    records = writer.call((Call("fs_prune", tuple(transactions)),))
    return Pruned(
        tuple(record.fields[0] for record in records if record.tag == "PRUNED"),
        tuple(problems(records)),
    )
