"""openclaw.json with everything it includes: what it says, and which file owns what.

Measured on 2026.9.6: `{"$include": "./f.json5"}` stands for the content of a file beside
it; a list of files is merged; keys beside `$include` are merged over it (mappings deeply,
lists joined); ten levels at most; nothing from outside the config file's directory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from posixpath import dirname, isabs, join, normpath, relpath

from fleetsync.documents import Dialect, Document, Path, Value, parse
from fleetsync.errors import DocumentError, EditRefused, Unreadable
from fleetsync.facts import FileFact

CONFIG = "config"
INCLUDE = "$include"
PATTERN = "has a *, ? or [ in it, and could be taken for another file"
_LEVELS = 10
_FLATTEN = "fleetsync edits the one file that holds them, and never flattens includes"


@dataclass(frozen=True, slots=True)
class Owner:
    """Where a value stands: the file, its role, its document, the path inside it."""

    role: str
    fact: FileFact
    document: Document
    path: Path


@dataclass(frozen=True, slots=True)
class Config:
    """One configuration: its files by the path they are asked by, the first the root."""

    root: str
    files: Mapping[str, FileFact]

    @property
    def roles(self) -> dict[str, FileFact]:
        """The files by role: `config`, and includes by their path beside it."""
        base = dirname(self.root)
        return {
            CONFIG if path == self.root else relpath(path, base): fact
            for path, fact in self.files.items()
        }

    @classmethod
    def of(cls, roles: Mapping[str, FileFact]) -> Config:
        """The configuration whose files have these roles."""
        root = roles[CONFIG].path
        base = dirname(root)
        return cls(root, {
            root if role == CONFIG else normpath(join(base, role)): fact
            for role, fact in roles.items()
        })

    def document(self, path: str) -> Document:
        """One file, parsed. Raises Unreadable, which names an include."""
        fact = self.files.get(path)
        name = "" if path == self.root else f"included file {path}: "
        if fact is None or fact.content is None:
            state = "not read" if fact is None else fact.kind.value
            raise Unreadable(f"{name}{state}", hint="repair it, or the $include that names it")
        try:
            return parse(fact.content.reveal(), Dialect.JSON5)
        except Unreadable as error:
            reason = f"{name}{error.reason}"
            raise Unreadable(reason, error.line, error.column, error.hint) from None

    def includes(self) -> frozenset[str]:
        """Every file that the readable ones include. Raises EditRefused for one outside."""
        found: set[str] = set()
        for path, fact in self.files.items():
            if fact.content is not None:
                found |= set(self._included(path, self.document(path).value(())))
        return frozenset(found)

    def _included(self, path: str, value: object) -> Iterator[str]:
        if isinstance(value, dict):
            named = value.get(INCLUDE)
            for name in named if isinstance(named, list) else [named]:
                if isinstance(name, str):
                    yield self.beside(path, name)
            for child in value.values():
                yield from self._included(path, child)
        elif isinstance(value, list):
            for child in value:
                yield from self._included(path, child)

    def beside(self, path: str, name: str) -> str:
        """The file that `name` means in `path`. Raises EditRefused for one outside, and for
        a name that would be looked up as a pattern."""
        found = normpath(name if isabs(name) else join(dirname(path), name))
        if is_pattern(name):
            raise EditRefused(f"$include {name} {PATTERN}", hint="give that file a plain name")
        if not found.startswith(f"{dirname(self.root)}/"):
            raise EditRefused(
                f"$include {name} leads out of the directory of openclaw.json",
                hint="fleetsync follows includes inside that directory only",
            )
        return found

    def effective(self) -> Value:
        """What OpenClaw makes of all files together. Raises Unreadable or EditRefused."""
        return self._resolved(self.root, self.document(self.root).value(()), 0)

    def _file(self, path: str, level: int) -> Value:
        if level > _LEVELS:
            raise Unreadable(f"more than {_LEVELS} levels of $include (or a circle) at {path}")
        return self._resolved(path, self.document(path).value(()), level)

    def _resolved(self, path: str, value: object, level: int) -> Value:
        if isinstance(value, list):
            return [self._resolved(path, item, level) for item in value]
        if not isinstance(value, dict):
            return value  # type: ignore[return-value]  # a scalar of a parsed document
        own = {k: self._resolved(path, v, level) for k, v in value.items() if k != INCLUDE}
        named = value.get(INCLUDE)
        if isinstance(named, str):
            included = self._file(self.beside(path, named), level + 1)
        elif isinstance(named, list):
            included = {}
            for name in named:
                included = merged(included, self._file(self.beside(path, str(name)), level + 1))
        else:
            return own
        return merged(included, own) if own else included

    def owner(self, path: tuple[str, ...]) -> Owner:
        """The one file that holds `path`, whether or not the value exists.

        Raises EditRefused where several files make it up, or a key stands twice on the
        way, and Unreadable."""
        file, rest = self.root, path
        at: tuple[str, ...] = ()
        for _ in range(_LEVELS + len(path) + 1):
            document = self.document(file)
            value = document.value(at)
            if isinstance(value, dict) and INCLUDE in value:
                self._one_file(document, at, value, rest)
                file, at = self.beside(file, str(value[INCLUDE])), ()
            elif rest and isinstance(value, dict) and rest[0] in value:
                at, rest = (*at, rest[0]), rest[1:]
            else:
                role = CONFIG if file == self.root else relpath(file, dirname(self.root))
                return Owner(role, self.files[file], document, (*at, *rest))
        raise Unreadable(f"more than {_LEVELS} levels of $include (or a circle)")

    def _one_file(
        self, document: Document, at: Path, value: Mapping[str, object], rest: tuple[str, ...]
    ) -> None:
        line, column = document.place(at)
        if not isinstance(value[INCLUDE], str):
            raise EditRefused(
                "the router's models come from a list of included files that are merged",
                line, column, _FLATTEN,
            )
        if len(value) > 1 and (not rest or rest[0] in value):
            raise EditRefused(
                "the router's models come from an included file and from keys beside $include",
                line, column, _FLATTEN,
            )


def merged(under: Value, over: Value) -> Value:
    """`over` laid over `under` as OpenClaw merges: mappings deeply, lists joined."""
    if isinstance(under, dict) and isinstance(over, dict):
        both = {key: merged(under[key], over[key]) for key in under if key in over}
        return {**under, **over, **both}
    if isinstance(under, list) and isinstance(over, list):
        return [*under, *over]
    return over


def complete(config: Config) -> Value | None:
    """The effective configuration, None where it cannot be made out."""
    try:
        return config.effective()
    except DocumentError:
        return None


def is_pattern(path: str) -> bool:
    """Whether a host would read `path` as a pattern, and so perhaps another file."""
    return any(character in path for character in "*?[")


def at(value: object, *keys: str) -> object:
    """What stands at `keys` below `value`; None where nothing does."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value
