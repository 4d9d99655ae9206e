"""The loop over edits: splice, parse again, prove, compose."""

from __future__ import annotations

from dataclasses import dataclass

from fleetsync.documents import proof
from fleetsync.documents.grammar import Grammar, Parsed, TextSplice, without_collector
from fleetsync.documents.paths import Trail, resolve
from fleetsync.documents.tree import (
    Append,
    Edit,
    Edited,
    Item,
    Kind,
    Node,
    Path,
    Remove,
    Set,
    Splice,
    Step,
    Value,
    Where,
    apply_splices,
)
from fleetsync.errors import EditRefused, Unreadable


@dataclass(frozen=True, slots=True)
class Made:
    """One edit with the place it was resolved to and the splices that make it."""

    edit: Edit
    trail: Trail
    splices: tuple[TextSplice, ...]


@without_collector()
def edit(parsed: Parsed, grammar: Grammar, bom: bytes, edits: tuple[Edit, ...]) -> Edited:
    """Make `edits` in order on `parsed` and prove each step. Raises EditRefused.

    Replacing scalars moves nothing that another path leads through, so such edits share one
    step; everything else is a step of its own, resolved in the text the last one left.
    """
    keys = {step.key for one in edits for step in one.path if isinstance(step, Where)}
    current, rope = parsed, Rope(parsed.text)
    waiting: list[Made] = []
    for one in edits:
        trail = resolve(current.root, one.path)
        light = _is_light(one, trail, keys)
        if waiting and not (light and all(made.trail.node is not trail.node for made in waiting)):
            current, waiting = _step(current, grammar, rope, waiting), []
            trail = resolve(current.root, one.path)
        made = make(current, grammar, one, trail)
        if not made.splices:
            continue
        waiting.append(made)
        if not light:
            current, waiting = _step(current, grammar, rope, waiting), []
    current = _step(current, grammar, rope, waiting) if waiting else current
    return _edited(parsed, current, bom, rope)


def make(parsed: Parsed, grammar: Grammar, one: Edit, trail: Trail) -> Made:
    """Let the grammar splice `one` at its trail; no splices where nothing must change."""
    _check(trail, one)
    if isinstance(one, Remove):
        made = [] if trail.rest else grammar.remove(parsed, trail)
    elif isinstance(one, Append) and not trail.rest:
        made = _append(parsed, grammar, trail, one.value)
    else:
        value = [one.value] if isinstance(one, Append) else one.value
        made = _set(parsed, grammar, trail, value)
    return Made(one, trail, tuple(made))


def _append(parsed: Parsed, grammar: Grammar, trail: Trail, value: Value) -> list[TextSplice]:
    if proof.is_null(trail.node):
        return grammar.replace(parsed, trail, [value])
    return grammar.append(parsed, trail, value)


def _set(parsed: Parsed, grammar: Grammar, trail: Trail, value: Value) -> list[TextSplice]:
    if not trail.rest:
        equal = proof.holds(trail.node, value, grammar.scalar)
        return [] if equal else grammar.replace(parsed, trail, value)
    for step in reversed(trail.rest[1:]):
        value = {str(step): value}
    key = str(trail.rest[0])
    if trail.nodes and proof.is_null(trail.node):
        return grammar.replace(parsed, trail, {key: value})
    return grammar.insert(parsed, trail, key, value)


def _check(trail: Trail, one: Edit) -> None:
    """Raise EditRefused where `one` asks for something that the tree cannot take."""
    if not one.path:
        raise EditRefused("the whole document cannot be an edit's place")
    if not isinstance(one, Remove):
        proof.check_value(one.value)
    if not trail.nodes:
        return
    node = trail.node
    if trail.rest:
        _check_rest(node, trail.rest, removes=isinstance(one, Remove))
    elif isinstance(one, Append) and node.kind is not Kind.SEQUENCE and not proof.is_null(node):
        reason = f"a list was expected here, found a {_kind(node)}"
        raise EditRefused(reason, node.line, node.column)


def _check_rest(node: Node, rest: Path, *, removes: bool) -> None:
    if proof.is_null(node) or (removes and node.kind in (Kind.MAPPING, Kind.SEQUENCE)):
        wrong = False if removes else not all(isinstance(step, str) for step in rest)
    else:
        wrong = node.kind is not Kind.MAPPING or not all(isinstance(step, str) for step in rest)
    if wrong:
        reason = f"{_words(rest[0])} does not exist here: this is a {_kind(node)}"
        raise EditRefused(reason, node.line, node.column)


def _kind(node: Node) -> str:
    return {"sequence": "list"}.get(node.kind.value, node.kind.value)


def _words(step: Step) -> str:
    if isinstance(step, Where):
        return f"the item with {step.key} = {step.value!r}"
    if isinstance(step, Item):
        return f"the item {step.value!r}"
    return f"the key {step!r}" if isinstance(step, str) else f"item {step}"


def _is_light(one: Edit, trail: Trail, keys: set[str]) -> bool:
    """Whether `one` replaces a scalar by a scalar that no other path is looked up by."""
    if not isinstance(one, Set) or isinstance(one.value, list | dict) or not one.path:
        return False
    last = one.path[-1]
    if trail.rest or not trail.nodes or not isinstance(last, str) or last in keys:
        return False
    return trail.node.kind is Kind.SCALAR and not proof.is_null(trail.node)


def _step(parsed: Parsed, grammar: Grammar, rope: Rope, made: list[Made]) -> Parsed:
    """Apply the splices of `made` to `parsed`, prove the outcome, note them in `rope`."""
    splices = sorted((one for each in made for one in each.splices), key=lambda s: (s.start, s.end))
    text = splice_text(parsed.text, splices)
    try:
        after = grammar.parse(text, parsed.dialect, parsed.limits)
    except Unreadable as error:
        raise proof.doubt(made[0].trail, f"the outcome would not parse ({error.message})") from None
    proof.prove(parsed, after, [(m.edit, m.trail, m.splices) for m in made], grammar)
    rope.splice(splices)
    return after


def splice_text(text: str, splices: list[TextSplice]) -> str:
    """`text` with `splices` put in. Raises EditRefused unless they ascend and are disjoint."""
    pieces: list[str] = []
    at = 0
    for one in splices:
        if not at <= one.start <= one.end <= len(text):
            raise EditRefused("internal: splices overlap; nothing was changed")
        pieces += (text[at : one.start], one.text)
        at = one.end
    return "".join((*pieces, text[at:]))


class Rope:
    """What has become of a text: pieces kept from it and pieces put in, in order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._pieces = [_Piece(0, text)]

    def splice(self, splices: list[TextSplice]) -> None:
        """Put `splices`, relative to the present text, in."""
        out: list[_Piece] = []
        at = 0
        for one in splices:
            out += (*self._between(at, one.start), _Piece(-1, one.text))
            at = one.end
        out += self._between(at, sum(len(piece.text) for piece in self._pieces))
        self._pieces = [piece for piece in out if piece.text]

    def splices(self) -> list[TextSplice]:
        """The splices of the original that give the present text."""
        out: list[TextSplice] = []
        at, new = 0, ""
        for piece in (*self._pieces, _Piece(len(self._text), "")):
            if piece.start < 0:
                new += piece.text
                continue
            if self._text[at : piece.start] != new:
                out.append(TextSplice(at, piece.start, new))
            at, new = piece.start + len(piece.text), ""
        return out

    def _between(self, start: int, end: int) -> list[_Piece]:
        """The pieces of the present text's characters [start, end)."""
        out, at = [], 0
        for piece in self._pieces:
            first, last = max(start - at, 0), min(end - at, len(piece.text))
            if first < last:
                begin = piece.start if piece.start < 0 else piece.start + first
                out.append(_Piece(begin, piece.text[first:last]))
            at += len(piece.text)
        return out


@dataclass(frozen=True, slots=True)
class _Piece:
    """Text kept from the original at `start`, or put in (`start` is -1)."""

    start: int
    text: str


def _edited(parsed: Parsed, current: Parsed, bom: bytes, rope: Rope) -> Edited:
    """The outcome in bytes, after a last look that its splices give exactly its data."""
    original, data = bom + parsed.text.encode(), bom + current.text.encode()
    splices, at, offset = [], 0, len(bom)
    for one in rope.splices():
        offset += len(parsed.text[at : one.start].encode())
        end = offset + len(parsed.text[one.start : one.end].encode())
        splices.append(Splice(offset, end, one.text.encode()))
        at, offset = one.end, end
    if apply_splices(original, tuple(splices)) != data:
        raise EditRefused("internal: the splices do not give the outcome; nothing was changed")
    return Edited(data, tuple(splices))
