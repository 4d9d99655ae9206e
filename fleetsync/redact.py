"""The one exit for text that came from a host: what may be shown of it, and how.

Text of a client's file is masked by the spans of its own parser. Text that has no
grammar (an error message, a program's last words) loses token shapes and every
character that could steer a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fleetsync.documents import Span

MASK = "•••"
"""Stands for a masked value whatever its length."""

_PREFIXED = (
    r"\b(?:sk|pk|rk|ghp|gho|xox[abp]|hf|glpat|AKIA)[-_][A-Za-z0-9_-]{8,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+)*"
)
_TOKEN = re.compile(
    # A fingerprint of a public key is there to be compared: it is the one long word kept.
    r"(?P<kept>\bSHA256:[A-Za-z0-9+/]{43}(?![A-Za-z0-9+/=]))"
    r"|(?i:\b(?:bearer|basic)\s+)\S+"
    r"|(?<=://)[^\s/@]+(?=@)"
    r"|(?i:(?<=[?&]))[\w.-]*(?i:key|token|secret|password)[\w.-]*=[^\s&]+"
    r"|(?i:\b[\w-]*(?:api[_-]?key|token|secret|password|passwd)[\w-]*[\"']?\s*[=:]\s*)[\"']?[^\s\"',}]+"
    rf"|{_PREFIXED}"
    r"|\b(?=[A-Za-z0-9_+=-]*[0-9])(?=[A-Za-z0-9_+=-]*[A-Za-z])[A-Za-z0-9_+=-]{24,}"
)
_KEY = re.compile(_PREFIXED + r"|(?<![A-Za-z0-9])(?=\d*[A-Za-z])(?=[A-Za-z]*\d)[A-Za-z0-9]{24,}")
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


def named(text: str) -> str:
    """Text with names in it that a router or a client chose, as of models: what has the
    shape of a key is masked, but a name may be long, as long as it has parts."""
    return printable(_KEY.sub(MASK, text))


def _masked(found: re.Match[str]) -> str:
    return found["kept"] or MASK


def printable(text: str) -> str:
    """`text` with control and direction-changing characters shown as escapes; line
    ends and tabs stay."""
    return _UNSAFE.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
