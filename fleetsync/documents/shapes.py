"""The shapes of secrets: what tokens look like, and how a comment gives one away."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_FAMILIES: Final = re.compile(
    r"\b(?:sk|pk|rk|ghp|gho|ghu|ghs|ghr|gsk|xai|nvapi|glpat|npm|xox[abeprs]|tvly|pplx)"
    r"[-_](?=[A-Za-z0-9_-]{0,80}[0-9A-Z])[A-Za-z0-9_-]{8,}"
    r"|\b(?:github_pat|hf)_\w{8,}|\b(?:AKIA|ASIA|AIza)[A-Za-z0-9_-]{8,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*"
)
_BEARER: Final = re.compile(r"(?i:\b(?:bearer|basic)[ \t]+)([^\s\"',}]+)")
_USERINFO: Final = re.compile(r"(?<=://)[^\s/@\"']+(?=@)")
_QUERY: Final = re.compile(
    r"(?i:[?&](?=[\w.-]*(?:key|token|secret|sig|password|auth))[\w.-]++=)([^\s&#\"']+)"
)
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}")
_RUN: Final = re.compile(r"[A-Za-z0-9_+/=]{20,}")
_LONG: Final = re.compile(r"[A-Za-z0-9_+/=.~-]{16,}")
_NUMBER: Final = re.compile(
    r"[+-]?[0-9][0-9_.,]{0,14}|true|false|null|yes|no|on|off", re.IGNORECASE
)

_SECRETIVE: Final = r"(?:pass(?:word|wd|phrase|code)?|pwd|secret|api[ _-]?key|access[ _-]?key|pin)"
_PASSWORD_NAME: Final = re.compile(rf"(?i)(?<![a-z]){_SECRETIVE}(?![a-z])|password|secret|apikey")
_NAME: Final = (
    r"(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|key|credential|auth|bearer|cookie|session)"
    r"[\w.-]{0,40}[\"'`]?[ \t]{0,9}"
)
_SPEAKS: Final = re.compile(rf"(?i){_NAME}(?::|=>?|->|→|\bis\b|\bwas\b)[ \t]*(?P<value>.*)")
_SETTING: Final = re.compile(
    r"[\s/#*;>-]*+[\"'`]?[\w.$/-]{1,60}[\"'`]?[ \t]{0,9}[:=][ \t]*+(?P<value>[^\s,;]+)[ \t,;]*"
)
_QUOTED: Final = re.compile(
    r"\"(?P<double>[^\"]*)(?:\"|$)|(?<!\w)'(?P<single>[^']*)(?:'|$)|`(?P<tick>[^`]*)(?:`|$)"
)
_CONTINUES: Final = re.compile(rf"(?i){_NAME}[:=][ \t]{{0,9}}[|>]?[+-]?$")
_FRAME: Final = " \t\"'`,;"
_MARKERS: Final = "/*# \t"


def anywhere(text: str) -> Iterator[tuple[int, int]]:
    """Spans that are secret wherever they stand: well-known beginnings, URL credentials."""
    for pattern, group in ((_FAMILIES, 0), (_BEARER, 1), (_USERINFO, 0), (_QUERY, 1)):
        for found in pattern.finditer(text):
            yield found.span(group)


def is_token(text: str) -> bool:
    """Whether a key or a managed value looks like a secret: a well-known beginning, a URL with
    credentials, or a run of 20 or more characters with letters and digits among them."""
    return any(True for _ in anywhere(text)) or any(
        _is_mixed(found[0]) for found in _RUN.finditer(text)
    )


def is_word(text: str) -> bool:
    """Whether `text` is one short plain word, as protocols and modes are named."""
    return _WORD.fullmatch(text) is not None


def is_password_name(key: str) -> bool:
    """Whether a key names a secret that may be a mere number."""
    return _PASSWORD_NAME.search(key) is not None


def in_comment(text: str, words: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Spans to mask in a comment: quoted text, what follows a word such as `password`, the
    value of what looks like a setting, and words of 16 or more mixed characters."""
    yield from anywhere(text)
    start = 0
    for line in text.splitlines(keepends=True):
        content = line.rstrip("\r\n\u2028\u2029\x85").removesuffix("*/").rstrip()
        for first, last in _in_line(content):
            if content[first:last].strip(_FRAME) not in words:
                yield start + first, start + last
        start += len(line)


def continues(comment: str) -> bool:
    """Whether a comment ends with the name of a secret whose value is still to come."""
    return _CONTINUES.search(comment.removesuffix("*/").rstrip()) is not None


def comment_body(comment: str) -> tuple[int, int]:
    """The span of a comment's text without its markers."""
    start = len(comment) - len(comment.lstrip(_MARKERS))
    return start, max(start, len(comment.removesuffix("*/").rstrip()))


def _in_line(line: str) -> Iterator[tuple[int, int]]:
    for quoted in _QUOTED.finditer(line):
        yield quoted.span(quoted.lastgroup or 0)
    for said in (_SPEAKS.search(line), _SETTING.fullmatch(line)):
        if said and not _is_harmless(line[: said.start("value")], said["value"]):
            yield said.span("value")
    for word in _LONG.finditer(line):
        if _is_mixed(word[0]) or word[0].isdigit():
            yield word.span()


def _is_harmless(name: str, value: str) -> bool:
    """Whether a setting's value is a number or a switch, and its name no password's."""
    return not is_password_name(name) and bool(_NUMBER.fullmatch(value.rstrip(" \t,;")))


def _is_mixed(word: str) -> bool:
    """Whether letters of both cases, or letters and digits, make up `word`."""
    kinds = (str.isdigit, str.islower, str.isupper)
    return sum(any(map(kind, word)) for kind in kinds) > 1
