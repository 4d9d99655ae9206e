"""Which hosts hold one and the same key: the fingerprints of one run, compared. Pure.

Within a host clients may well share its key; between hosts it is worth a warning. A
fingerprint means nothing outside its run, and none is left in what this answers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace

from fleetsync.outcome import HostResult, TargetResult

_NAMED = 8
"""How many other hosts a note names."""


def compared(
    results: Sequence[HostResult], accounts: Mapping[str, Hashable]
) -> tuple[HostResult, ...]:
    """The results, each target told which other hosts hold its key.

    `accounts` says by a host's name which account it leads to: two names for one account
    share nothing.
    """
    holders: defaultdict[str, dict[Hashable, str]] = defaultdict(dict)
    for host, target in _targets(results):
        if target.fingerprint:
            holders[target.fingerprint].setdefault(accounts.get(host, host), host)
    return tuple(
        replace(one, targets=tuple(
            _told(target, _others(holders, target, accounts.get(one.host, one.host)))
            for target in one.targets
        ))
        for one in results
    )


def _targets(results: Sequence[HostResult]) -> Iterator[tuple[str, TargetResult]]:
    return ((one.host, target) for one in results for target in one.targets)


def _others(
    holders: Mapping[str, Mapping[Hashable, str]], target: TargetResult, account: Hashable
) -> tuple[str, ...]:
    found = holders.get(target.fingerprint, {})
    return tuple(host for owner, host in found.items() if owner != account)


def _told(target: TargetResult, others: tuple[str, ...]) -> TargetResult:
    notes = (*target.notes, note(others)) if others else target.notes
    return replace(target, fingerprint="", shared_with=others, notes=notes)


def note(others: Sequence[str]) -> str:
    """The warning on a target whose key `others` hold too."""
    named = ", ".join(others[:_NAMED])
    more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
    return f"its router key is also that of {named}{more}: each host should have one of its own"


def kept(before: HostResult, after: HostResult) -> HostResult:
    """`after` with what a look at more hosts, `before`, told of shared keys."""
    known = {target.label: target.shared_with for target in before.targets}
    return replace(after, targets=tuple(
        _kept(target, known.get(target.label, ())) for target in after.targets
    ))


def _kept(target: TargetResult, known: tuple[str, ...]) -> TargetResult:
    if not known or known == target.shared_with:
        return target
    old = note(target.shared_with)
    notes = tuple(one for one in target.notes if one != old)
    return replace(target, shared_with=known, notes=(*notes, note(known)))
