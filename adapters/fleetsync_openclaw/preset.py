"""The preset `anvil`: anvil-serving's rules for an OpenClaw host. Checked, never edited."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fleetsync.adapter import Refusal, Wish

from .config import at
from .versions import Version

EXCLUDED = frozenset({"llm.auxiliary"})
"""Aliases that an OpenClaw host does not get."""
NOT_COMPACTED = frozenset({"llm.voice"})
"""Aliases whose limits do not bound the compaction."""
IMAGE = "vision.general"
_PLAIN = re.compile(r"[a-z]{1,20}(/[a-z.]{1,40})?")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the rules say of one configuration."""

    refusals: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()


def judge_preset(wish: Wish, effective: object, versions: tuple[Version, ...]) -> Verdict:
    """The verdict of the preset that the policy names; an empty one without a preset."""
    if wish.policy.preset != "anvil":
        return Verdict()
    compaction = at(effective, "agents", "defaults", "compaction")
    mode = at(compaction, "mode")
    refusals = [*_excluded(wish), *_image(wish, effective)]
    if mode != "safeguard":
        refusals.append(_refusal("compaction.mode must be safeguard", mode))
    if any(version.is_new for version in versions):
        note = "preset anvil: this OpenClaw has no compaction reserves, so only its mode is checked"
        return Verdict(tuple(refusals), (note,))
    return Verdict((*refusals, *_reserves(wish, compaction)))


def _excluded(wish: Wish) -> Iterator[Refusal]:
    for alias in wish.aliases:
        if alias.name in EXCLUDED:
            yield Refusal(
                f"preset anvil: {alias.name} is not for OpenClaw",
                f'exclude it in the inventory: [clients.openclaw] exclude = ["{alias.name}"]',
            )


def _image(wish: Wish, effective: object) -> Iterator[Refusal]:
    """The image model, unless the user chose one of another provider."""
    if IMAGE not in {alias.name for alias in wish.aliases}:
        return
    wanted = f"{wish.provider}/{IMAGE}"
    found = at(effective, "agents", "defaults", "imageModel")
    primary = found if isinstance(found, str) else at(found, "primary")
    if not isinstance(primary, str):
        yield _refusal(f"imageModel.primary must be {wanted}", None)
    elif primary != wanted and primary.startswith(f"{wish.provider}/"):
        yield _refusal(f"imageModel.primary must be {wanted}", primary)


def _reserves(wish: Wish, compaction: object) -> Iterator[Refusal]:
    keys = ("reserveTokens", "keepRecentTokens", "reserveTokensFloor")
    found = {key: _tokens(at(compaction, key)) for key in keys}
    missing = [key for key, value in found.items() if value is None]
    for key in missing:
        yield _refusal(f"compaction.{key} must be a whole number of tokens", at(compaction, key))
    bounds = [alias for alias in wish.aliases if alias.name not in NOT_COMPACTED]
    if missing or not bounds:
        return
    reserve, recent, floor = (found[key] or 0 for key in keys)
    output = max(alias.max_output_tokens for alias in bounds)
    window = min(alias.context_window for alias in bounds)
    if floor < reserve:
        yield _broken(f"reserveTokensFloor {floor} is less than reserveTokens {reserve}")
    if reserve < output:
        yield _broken(f"reserveTokens {reserve} is less than the largest output, {output}")
    if reserve + recent >= window:
        yield _broken(
            f"reserveTokens {reserve} + keepRecentTokens {recent} = {reserve + recent} "
            f"is not less than the smallest window, {window}"
        )


def _tokens(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _broken(what: str) -> Refusal:
    return Refusal(f"preset anvil: compaction: {what}", "correct agents.defaults.compaction there")


def _refusal(rule: str, found: object) -> Refusal:
    return Refusal(f"preset anvil: {rule}; it is {_told(found)}", "correct agents.defaults there")


def _told(found: object) -> str:
    """What may be shown of a value of the user's: a number, or one plain word."""
    if found is None:
        return "not set"
    plain = isinstance(found, int) or (isinstance(found, str) and _PLAIN.fullmatch(found))
    return str(found) if plain else "something else"
