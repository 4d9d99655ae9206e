"""The one exit for text that came from a host: what may be shown of it, and how.

Text of a client's file is masked by the spans of its own parser. Text that has no
grammar (an error message, a program's last words) loses token shapes and every
character that could steer a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, islice

from fleetsync.documents import Span
from fleetsync.documents.secrets import tokens

MASK = "•••"
"""Stands for a masked value whatever its length."""

# Every alternative begins where a run of its letters does, and goes through it once: what
# a host says may be long and made to take long.
_TOKEN = re.compile(
    # A fingerprint of a public key is there to be compared: it is the one long word kept.
    r"(?P<kept>\bSHA256:[A-Za-z0-9+/]{43}(?![A-Za-z0-9+/=]))"
    r"|(?i:\b(?:bearer|basic)\s+)\S+"
    r"|(?<=://)[^\s/@]+(?=@)"
    r"|(?<=[?&])(?=[\w.-]*(?i:key|token|secret|password))[\w.-]++=[^\s&]+"
    r"|(?<![\w-])(?=[\w-]*(?i:api[_-]?key|token|secret|password|passwd))[\w-]++"
    r"[\"']?\s*[=:]\s*[\"']?[^\s\"',}]+"
    r"|\b(?:sk|pk|rk|ghp|gho|xox[abp]|hf|glpat|AKIA)[-_][A-Za-z0-9_-]{8,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+)*"
    r"|(?<![A-Za-z0-9_+=-])(?=[A-Za-z0-9_+=-]*[0-9])(?=[A-Za-z0-9_+=-]*[A-Za-z])"
    r"[A-Za-z0-9_+=-]{24,}"
)
_BLANK = re.compile(r"[\s`'\"]+")
_SIGN = re.compile(r"[=:/@?&,;()]")
_MOST, _CUTS = 4000, 40
"""Characters of a name that are looked at (half a token at their end is not shown any more),
and ends of signs in one word of it."""
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def mask(text: str, spans: Sequence[Span]) -> str:
    """`text` with each of the ascending `spans` replaced by `MASK`.

    A span over several lines keeps its line ends, so that a diff stays aligned.
    """
    pieces: list[str] = []
    at = 0
    for span in spans:
        pieces += (text[at : span.start], _mask_lines(text[span.start : span.end]))
        at = span.end
    return "".join((*pieces, text[at:]))


def _mask_lines(secret: str) -> str:
    return "\n".join(MASK if line.strip() else "" for line in secret.split("\n"))


def words(text: str, limit: int = 400) -> str:
    """Free text from a host on one line: without tokens or control characters, and at
    most `limit` characters long."""
    clean = printable(_TOKEN.sub(_masked, " ".join(text.split())))
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def named(text: str, is_key: Callable[[str], bool]) -> str:
    """Text with names in it that a router or a client chose, as of models, at most 400
    characters long: without token shapes, and without what `is_key` knows for a key. All
    else of a name is shown, however long it is and whatever it is made of."""
    text = text[:_MOST]
    for part in filter(is_key, _parts(text)):
        text = text.replace(part, MASK)
    clean = printable(mask(text, tokens(text)))
    return clean if len(clean) <= 400 else clean[:399] + "…"


def _parts(text: str) -> Iterator[str]:
    """What in `text` could be a whole key: each word, and what lies between the signs that
    may stand around a key in it, or in a key itself."""
    for word in _BLANK.split(text):
        signs = (place for sign in _SIGN.finditer(word) for place in sign.span())
        cuts = sorted({0, len(word), *islice(signs, _CUTS)})
        yield from (word[start:end] for start, end in combinations(cuts, 2))


def _masked(found: re.Match[str]) -> str:
    return found["kept"] or MASK


def printable(text: str) -> str:
    """`text` with control and direction-changing characters shown as escapes; line
    ends and tabs stay."""
    return _UNSAFE.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
