from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from fleetsync.cli.doctor import examination
from fleetsync.cli.output import cell, coloured, table
from fleetsync.cli.render import blocks, question, results, summary, trace
from fleetsync.inventory import Host
from fleetsync.outcome import (
    ChangeRow,
    HostResult,
    Outcome,
    RouterRow,
    RouterVerdict,
    TraceRow,
)

from .fleets import (
    CHANGES,
    DIFF,
    INSTALLATION,
    TRACE,
    account,
    alone,
    changed,
    drift,
    in_step,
    refused,
    target,
)


def shown(*hosts: HostResult, quiet: bool = False, verbose: bool = False) -> list[str]:
    return list(blocks(hosts, quiet=quiet, verbose=verbose))


def test_a_host_in_step_takes_one_line() -> None:
    assert shown(in_step("one")) == ["one  pi  in step"]


def test_drift_is_shown_by_headline_rows_and_diff() -> None:
    assert shown(drift("one")) == [
        "one  pi  drift  2 changes",
        "  llm.primary  contextWindow  524288 -> 393216",
        "  llm.primary  maxTokens      8192 -> 4096",
        "  --- /home/op/.pi/agent/models.json",
        "  +++ /home/op/.pi/agent/models.json (planned)",
        "  @@ -1,1 +1,1 @@",
        '  -"contextWindow": 524288',
        '  +"contextWindow": 393216',
    ]


def test_headlines_of_all_hosts_are_aligned() -> None:
    lines = shown(in_step("companion-node"), drift("one"), quiet=True) + shown(
        in_step("companion-node"), drift("one")
    )
    assert lines[0] == "one             pi  drift    2 changes"
    assert lines[1] == "companion-node  pi  in step"


def test_a_refusal_tells_cause_and_step_first_then_every_place_then_the_drift() -> None:
    assert shown(refused("mid"))[:9] == [
        "mid  pi  refused  no key of its own",
        "  next: set ROUTER_API_KEY there",
        "  looked for the credential, in the client's own order:",
        "    1.  absent     ~/.pi/agent/auth.json anvil.key",
        "    2.  reference  ~/.pi/agent/models.json apiKey (ROUTER_API_KEY)",
        "  and where the client does not look:",
        "    present  ROUTER_API_KEY mentioned in ~/.bashrc",
        "  drift all the same: 2 changes",
        "  llm.primary  contextWindow  524288 -> 393216",
    ]


def test_places_that_differ_only_in_their_file_share_a_line() -> None:
    rows = [
        TraceRow(f"KEY {how} {file}", verdict, explains=True)
        for how, file, verdict in (
            ("in", "~/.env", "absent"),
            ("in", "/etc/environment", "absent"),
            ("in", "~/.ssh/environment", "present"),
            ("mentioned in", "~/.profile", "absent"),
        )
    ]
    assert list(trace(rows))[1:] == [
        "    absent   KEY in ~/.env, /etc/environment",
        "    present  KEY in ~/.ssh/environment",
        "    absent   KEY mentioned in ~/.profile",
    ]


@pytest.mark.parametrize(
    "outcome",
    [Outcome.ABSENT, Outcome.AWAY, Outcome.HELD, Outcome.UNKNOWN, Outcome.FAILED, Outcome.CONFLICT],
)
def test_a_host_without_targets_tells_reason_and_step(outcome: Outcome) -> None:
    assert shown(alone("far", outcome)) == [f"far    {outcome.value}  why", "  next: what next"]


def test_a_value_that_appears_or_goes_away_says_so() -> None:
    found = target(
        "one", Outcome.DRIFT,
        changes=(ChangeRow("f", "a", "k", None, "1"), ChangeRow("f", "b", "k", "2", None)),
    )
    assert shown(HostResult("one", (found,)))[1:] == [
        "  a  k  (absent) -> 1",
        "  b  k  2 -> (removed)",
    ]


def test_a_link_is_named_with_what_it_leads_to() -> None:
    found = target("one", Outcome.DRIFT, diffs=(replace(DIFF, real="/home/op/dots/m.json"),))
    assert (
        "  /home/op/.pi/agent/models.json is a link: the file is /home/op/dots/m.json"
        in shown(HostResult("one", (found,)))
    )


def test_quiet_keeps_the_headlines_that_are_not_in_step() -> None:
    assert shown(in_step("one"), drift("two"), alone("far", Outcome.AWAY), quiet=True) == [
        "two  pi  drift    2 changes",
        "far      away     why",
    ]


def test_verbose_adds_files_and_installations() -> None:
    lines = shown(in_step("one"), drift("two"), verbose=True)
    assert lines[1] == "  installation  1.6.0  /home/op/.local/bin/pi  (PATH)"
    assert lines[-1] == "  file  models  /home/op/.pi/agent/models.json  file  0600"


def test_an_interrupted_transaction_is_named() -> None:
    host = replace(in_step("one"), interrupted=("transaction 7 was cut off",))
    assert shown(host)[1] == "one  interrupted transaction: transaction 7 was cut off"
    assert summary([host]) == "1 host: 1 in step, 1 interrupted transaction found"


def test_the_summary_counts_outcomes() -> None:
    assert summary([drift("a"), drift("b"), refused("c")]) == "3 hosts: 2 drift, 1 refused"


def test_the_summary_counts_targets_where_hosts_have_several() -> None:
    two = HostResult("a", (*drift("a").targets, *in_step("a").targets))
    assert summary([two]) == "1 host, 2 targets: 1 in step, 1 drift"


def test_what_the_router_said_is_shown_where_it_was_asked() -> None:
    row = RouterRow(RouterVerdict.UNREACHABLE, URL, "no such name")
    assert f"  router from this host  unreachable  {URL}  (no such name)" in shown(
        proved(in_step("one"), row)
    )


def test_a_target_refused_for_its_key_after_the_preview_tells_where_it_was_looked_for() -> None:
    (found,) = refused("one").targets
    later = HostResult("one", (replace(found, credential="closed"),))
    text = "\n".join(results([later], quiet=False, before=[drift("one")]))
    assert "looked for the credential" in text
    again = "\n".join(results([later], quiet=False, before=[later]))
    assert "looked for the credential" not in again


def test_the_question_lists_what_is_written_where() -> None:
    assert list(question([drift("one"), in_step("two"), drift("three"), refused("mid")])) == [
        "To be written:",
        "  one    pi  /home/op/.pi/agent/models.json  2 changes",
        "  three  pi  /home/op/.pi/agent/models.json  2 changes",
        "Write 2 files on 2 hosts? [y/N] ",
    ]


def test_results_name_the_originals_on_the_host() -> None:
    assert list(results([changed("one"), in_step("two")], quiet=False)) == [
        "one  pi  changed  2 changes",
        "  the client's own loader agrees",
        "  originals: /home/op/.local/state/fleetsync/txn/1.done on one",
        "two  pi  in step",
    ]


def test_quiet_results_keep_the_headline_and_the_originals() -> None:
    assert list(results([changed("one"), in_step("two")], quiet=True)) == [
        "one  pi  changed  2 changes",
        "  originals: /home/op/.local/state/fleetsync/txn/1.done on one",
    ]


def test_the_originals_of_one_transaction_are_named_once() -> None:
    pi = changed("one").targets[0]
    both = HostResult("one", (pi, replace(pi, client="openclaw", name="openclaw")))
    assert list(results([both], quiet=True)) == [
        "one  pi        changed  2 changes",
        "one  openclaw  changed  2 changes",
        "  originals: /home/op/.local/state/fleetsync/txn/1.done on one",
    ]


def test_a_target_with_a_name_of_its_own_is_told_apart() -> None:
    found = replace(target("one", Outcome.IN_STEP), client="hermes", name="work")
    assert shown(HostResult("one", (found,))) == ["one  hermes/work  in step"]


HOSTILE = "a\x1b[31m\x07\u202e\x9b[m"


def test_hostile_text_sends_no_escape_from_any_field() -> None:
    found = target(
        HOSTILE, Outcome.REFUSED, reason=f"{HOSTILE}\n{HOSTILE}", step=HOSTILE,
        changes=(ChangeRow(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE),),
        diffs=(replace(DIFF, path=HOSTILE, real=HOSTILE * 2, text=f"+{HOSTILE}\n-{HOSTILE}\n"),),
        notes=(HOSTILE,),
        installations=(replace(INSTALLATION, launcher=HOSTILE, version=HOSTILE),),
        loader=HOSTILE, bundle=HOSTILE,
    )
    host = HostResult(
        HOSTILE, (found,), notes=(HOSTILE,), interrupted=(HOSTILE,),
        account=replace(account(), user=HOSTILE, home=HOSTILE, shell=HOSTILE, system=HOSTILE),
    )
    text = "".join(
        (*shown(host, verbose=True), *results([host], quiet=False), *question([host]),
         *examination([host], typed, quiet=False))
    )
    assert not set(text) & {"\x1b", "\x07", "\u202e", "\x9b", "\n"}


def test_markup_and_long_lines_stay_as_they_are() -> None:
    name = "[bold]" + "x" * 300 + "[/nope]"
    found = target("one", Outcome.DRIFT, changes=(ChangeRow("f", name, "k", "[1]", "[2]"),))
    assert shown(HostResult("one", (found,)))[1] == f"  {name}  k  [1] -> [2]"


def test_a_cell_stays_on_its_line() -> None:
    assert cell("a\nb\tc\r") == "a\\nb\\tc\\x0d"


def test_an_undecodable_name_is_shown_by_its_bytes() -> None:
    assert cell(b"caf\xe9".decode("utf-8", "surrogateescape")) == "caf\\xe9"


def test_a_table_has_no_trailing_spaces() -> None:
    assert table([("a", "b", ""), ("cc", "d", "e")]) == ["a   b", "cc  d  e"]


def test_colour_goes_to_outcomes_and_diff_lines_alone() -> None:
    lines = list(blocks([drift("one")], quiet=False, verbose=False, paint=coloured))
    assert lines[0] == "one  pi  \x1b[33mdrift\x1b[0m  2 changes"
    assert lines[1] == "  llm.primary  contextWindow  524288 -> 393216"
    assert lines[-1] == '  \x1b[32m+"contextWindow": 393216\x1b[0m'


def typed(name: str, hosts: Sequence[str]) -> str:
    return f"fleetsync {name} {' '.join(hosts)} --inventory here"


def test_doctor_tells_the_account_the_findings_and_one_next_step() -> None:
    host = replace(drift("one"), account=account(), seconds=0.25)
    assert list(examination([host], typed, quiet=False)) == [
        "one  reachable in 0.2 s as op",
        "  system  Linux, home /home/op",
        "  shell   /bin/bash",
        "  state   /home/op/.local/state/fleetsync; no change of ours yet",
        "one  pi  drift  2 changes",
        "  next: fleetsync preview one --inventory here",
        "  limits  declared -> wished:",
        "    llm.primary  contextWindow  524288 -> 393216",
        "    llm.primary  maxTokens      8192 -> 4096",
        "  installation  1.6.0  /home/op/.local/bin/pi  (PATH)",
        "  interpreter of /home/op/.local/bin/pi: /usr/bin/node 24.19.0",
        "  file  models  /home/op/.pi/agent/models.json  file  0600",
    ]


def test_doctor_says_why_a_host_is_not_reached() -> None:
    assert list(examination([alone("far", Outcome.AWAY)], typed, quiet=False)) == [
        "far    away  why",
        "  next: what next",
    ]


def test_a_next_step_over_several_lines_keeps_them_to_be_pasted() -> None:
    host = alone("far", Outcome.REFUSED, step="add this line:\n  far ssh-ed25519 AAAA")
    assert list(examination([host], typed, quiet=False))[1:] == [
        "  next: add this line:",
        "          far ssh-ed25519 AAAA",
    ]


def test_doctor_gives_a_step_for_a_host_that_is_away_without_one() -> None:
    told = list(examination([alone("far", Outcome.AWAY, step="")], typed, quiet=False))
    assert told[1].endswith("reachable, then: fleetsync doctor far --inventory here")


def sheet(*hosts: HostResult, **more: Any) -> list[str]:
    return list(examination(hosts, typed, quiet=False, **more))


def proved(host: HostResult, row: RouterRow | None, **more: Any) -> HostResult:
    """The host, its target's gate open and the router asked."""
    (one,) = host.targets
    return replace(host, targets=(replace(one, credential="open", router=row, **more),))


URL = "https://router.example.net/v1"


def test_a_target_in_step_has_its_credential_router_and_limits_on_the_sheet() -> None:
    row = RouterRow(RouterVerdict.ACCEPTED, URL, proxies=("https_proxy",))
    lines = sheet(proved(in_step("one"), row, limits="as wished"))
    assert lines[1:5] == [
        "one  pi  in step",
        "  next: nothing to do",
        "  credential  open",
        f"  router from this host  accepted  {URL}  through https_proxy",
    ]
    assert "  limits  as wished" in lines


STEPS = [
    (RouterVerdict.ACCEPTED, "nothing to do"),
    (RouterVerdict.UNREACHABLE, "let the host reach the router"),
    (RouterVerdict.NOT_A_ROUTER, "correct base_url"),
    (RouterVerdict.ALIAS_MISSING, "have the router serve them"),
    (RouterVerdict.NOT_CHECKED, "nothing to do"),
]


@pytest.mark.parametrize(("verdict", "step"), STEPS)
def test_what_the_router_says_of_a_target_in_step_is_its_next_step(
    verdict: RouterVerdict, step: str
) -> None:
    lines = sheet(proved(in_step("one"), RouterRow(verdict, URL)))
    steps = [line for line in lines if line.startswith("  next: ")]
    assert len(steps) == 1
    assert steps[0].startswith(f"  next: {step}")


def test_where_no_key_stands_is_told_of_a_closed_gate_alone() -> None:
    nowhere = TraceRow("ROUTER_API_KEY in /etc/environment", "absent", explains=True)
    rows = (*TRACE, nowhere)
    opened = "\n".join(sheet(proved(in_step("one"), None, trace=rows)))
    assert ("/etc/environment" in opened, "~/.bashrc" in opened) == (False, True)
    (closed,) = refused("one").targets
    told = replace(closed, trace=rows, credential="closed")
    assert "/etc/environment" in "\n".join(sheet(HostResult("one", (told,))))


def test_a_gate_that_pends_tells_where_it_was_looked_for() -> None:
    (one,) = drift("one").targets
    pending = replace(one, credential="indeterminate", trace=(TraceRow("a", "indeterminate"),))
    assert shown(HostResult("one", (pending,)))[1:3] == [
        "  looked for the credential, in the client's own order:",
        "    1.  indeterminate  a",
    ]


def test_a_shared_key_is_the_next_step_of_a_target_in_step() -> None:
    lines = sheet(proved(in_step("one"), None, shared_with=("two",)))
    assert lines[2].endswith(
        "of its own: fleetsync credential set one --inventory here --target pi"
    )


def test_an_interrupted_host_has_one_next_step_for_each_target() -> None:
    lines = sheet(replace(drift("one"), interrupted=("transaction 7 was cut off",)))
    assert [line for line in lines if "next: " in line] == [
        "  next: fleetsync recover one --inventory here"
    ]


def test_other_writers_are_on_the_sheet() -> None:
    lines = sheet(replace(in_step("one"), account=account(), writers=("cc-switch",)))
    assert "  writers used here and known to write such files: cc-switch" in lines


def test_who_wrote_last_by_our_hand_is_told_once() -> None:
    row = replace(account(), last="run=1", last_writer="last applied by op")
    lines = sheet(replace(in_step("one"), account=row))
    assert [line for line in lines if "last" in line] == [
        f"  state   {row.state}; last applied by op"
    ]


def test_an_absent_client_has_no_list_of_places() -> None:
    found = refused("one")
    (target,) = found.targets
    absent = replace(found, targets=(replace(target, outcome=Outcome.ABSENT),))
    told = "\n".join(sheet(found)), "\n".join(sheet(absent))
    assert ["looked for the credential" in text for text in told] == [True, False]


def test_a_host_that_is_away_is_shown_as_the_inventory_knows_it() -> None:
    known = {"far": Host("far", "far.example", "op", clients=("pi", "hermes"))}
    assert sheet(alone("far", Outcome.AWAY), known=known)[2] == (
        "  known   from the inventory alone: address far.example, user op, clients pi, hermes"
    )


def test_several_hosts_end_with_one_table_of_their_keys() -> None:
    one = proved(in_step("one"), RouterRow(RouterVerdict.ACCEPTED, URL), shared_with=("two",))
    two = proved(refused("two"), RouterRow(RouterVerdict.REJECTED, URL), shared_with=("one",))
    lines = sheet(one, two, alone("far", Outcome.AWAY), alone("off", Outcome.HELD))
    assert lines[lines.index("router keys:") + 1:] == [
        "  host  target  credential       router    shared with",
        "  one   pi      open             accepted  two",
        "  two   pi      open             rejected  one",
        "  far           not known: away",
    ]


def test_one_host_has_no_table_of_keys() -> None:
    assert "router keys:" not in sheet(proved(in_step("one"), None))


def test_doctor_names_noise_locks_and_the_last_change() -> None:
    row = replace(account(), noise=True, last="run=1", locked_by="pid 7")
    text = "\n".join(examination([replace(in_step("one"), account=row)], typed, quiet=False))
    assert "its start-up files print into ssh commands" in text
    assert "last change: run=1; locked by pid 7" in text
    assert len(CHANGES) == 2


def test_quiet_results_leave_out_the_notes_of_what_is_in_step() -> None:
    (fits,), (wrote,) = in_step("one").targets, changed("one").targets
    host = replace(
        in_step("one"),
        targets=(replace(fits, notes=("of no interest",)), replace(wrote, notes=("of interest",))),
    )
    told = "\n".join(results([host], quiet=True))
    assert ("of interest" in told, "of no interest" in told) == (True, False)
    assert "of no interest" in "\n".join(results([host], quiet=False))
