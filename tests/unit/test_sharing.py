"""One key on two hosts is told on both; its fingerprint is told nowhere."""

from __future__ import annotations

from dataclasses import replace

from fleetsync.cli.conduct import Conducted
from fleetsync.cli.output import Report, envelope
from fleetsync.cli.writing import final
from fleetsync.outcome import HostResult, Outcome
from fleetsync.sharing import compared, kept, note

from .fleets import changed, drift, in_step

PRINT = "0123456789ab"


def holding(name: str, *prints: str) -> HostResult:
    """A host whose targets have keys with these fingerprints."""
    (one,) = drift(name).targets
    return HostResult(name, tuple(
        replace(one, name=f"t{number}", fingerprint=found)
        for number, found in enumerate(prints)
    ))


def shared(results: tuple[HostResult, ...]) -> dict[str, list[tuple[str, ...]]]:
    return {host.host: [target.shared_with for target in host.targets] for host in results}


def test_hosts_with_one_key_are_told_of_each_other() -> None:
    found = compared([holding("a", PRINT), holding("b", PRINT), holding("c", "f" * 12)], {})
    assert shared(found) == {"a": [("b",)], "b": [("a",)], "c": [()]}
    assert found[0].targets[0].notes == (note(["b"]),)


def test_clients_of_one_host_may_share_its_key() -> None:
    found = compared([holding("a", PRINT, PRINT)], {})
    assert shared(found) == {"a": [(), ()]}


def test_hosts_without_a_key_share_none() -> None:
    assert shared(compared([holding("a", ""), holding("b", "")], {})) == {"a": [()], "b": [()]}


def test_two_names_of_one_account_share_nothing() -> None:
    found = compared([holding("a", PRINT), holding("b", PRINT)], {"a": "same", "b": "same"})
    assert shared(found) == {"a": [()], "b": [()]}


def test_a_note_names_a_few_hosts_and_counts_the_rest() -> None:
    assert "h7 and 2 more:" in note([f"h{number}" for number in range(10)])


def test_no_fingerprint_is_left_in_what_is_answered() -> None:
    results = compared([holding("a", PRINT), holding("b", PRINT)], {})
    assert PRINT not in repr([target.fingerprint for host in results for target in host.targets])


def test_a_fingerprint_shows_in_no_repr_and_no_envelope() -> None:
    host = holding("a", PRINT)
    assert PRINT not in repr(host)
    told = envelope(Report("doctor", "ok", 0, hosts=(host,)))
    assert (PRINT in told, "fingerprint" in told) == (False, False)


def test_a_write_to_one_host_keeps_what_the_look_at_all_told() -> None:
    seen = compared([holding("a", PRINT), holding("b", PRINT)], {})
    (wrote,) = changed("a").targets
    last = final(Conducted(seen), Conducted((HostResult("a", (replace(wrote, name="t0"),)),)))
    assert [target.shared_with for target in last.hosts[0].targets] == [("b",)]
    assert last.hosts[0].targets[0].outcome is Outcome.CHANGED


def test_a_wider_look_replaces_the_note_of_a_narrower_one() -> None:
    narrow, wide = (
        compared([holding(name, PRINT) for name in names], {})[0] for names in ("ab", "abc")
    )
    (target,) = kept(wide, narrow).targets
    assert (target.shared_with, target.notes) == (("b", "c"), (note(["b", "c"]),))


def test_a_host_of_which_nothing_was_told_stays_as_it_is() -> None:
    assert kept(in_step("a"), changed("a")) == changed("a")
