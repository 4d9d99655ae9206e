"""The rules that every adapter must pass, ours as a third party's.

Each rule is a function of an adapter and a `Sample` that raises ContractError. With pytest:

    @pytest.mark.parametrize("rule", contract.RULES, ids=lambda rule: rule.__name__)
    def test_the_adapter_keeps_the_contract(rule):
        rule(adapter, SAMPLE)

`survives` is one more, for contents of your own choice (hypothesis makes good ones).
"""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

from fleetsync import diff
from fleetsync.adapter import SCRATCH, Adapter, Command, Done, Planned, Target
from fleetsync.documents import Set, apply_splices
from fleetsync.errors import HostError
from fleetsync.facts import FileFact, FileKind, Question, Read
from fleetsync.outcome import Outcome
from fleetsync.plan import Plan, plans
from fleetsync.probe import Salts, ask
from fleetsync.registry import fits
from fleetsync.remote import Reader
from fleetsync.testing.commands import bounded, inside, require
from fleetsync.testing.edits import content_of, document_of, leaves
from fleetsync.testing.hostile import BROKEN, CANARY, ODD, endings, odd_files
from fleetsync.testing.local import MemoryRemote
from fleetsync.testing.optional import (
    a_new_key_has_a_place_or_lines,
    a_turn_is_bounded_and_private,
    a_turn_is_not_believed_blindly,
)
from fleetsync.testing.sample import ContractError, Sample, answered, full, rounds

__all__ = ["RULES", "ContractError", "Rule", "Sample", "survives"]

Rule: TypeAlias = Callable[[Adapter, Sample], None]

MOST_SECONDS: Final = 300
"""A loader that takes longer holds up a whole fleet."""
_HIDDEN: Final = "hidden-below"
"""Stands inside what should be a number, and looks like no key."""


def a_name_that_fleet_toml_can_hold(adapter: Adapter, sample: Sample) -> None:
    """`name` is a word for a table, and the wish is for it."""
    require(fits(adapter.name), f"{adapter.name!r} cannot be a client's name in fleet.toml")
    require(
        sample.wish.client == adapter.name,
        f"the sample's wish is for {sample.wish.client}, not for {adapter.name}",
    )


def questions_only_read_and_end(adapter: Adapter, sample: Sample) -> None:
    """From empty facts they grow, can be put to a host, run nothing and come to an end.

    Only where a variable moves the client may it ask elsewhere instead.
    """
    for host in (sample, sample.bare()):
        asked = rounds(adapter, host)
        for before, after in () if host.variables else itertools.pairwise(asked):
            require(before <= after, f"a later round no longer asks {_told(before - after)}")
        _askable(asked[-1])
        _unambiguous(asked[-1])


def _askable(questions: frozenset[Question]) -> None:
    """As far as the sending: the host of this probe has no answer."""
    try:
        ask(Reader(MemoryRemote(())), questions, Salts("", ""))
    except HostError:
        return
    except ValueError as error:
        raise ContractError(f"a question cannot be put to a host: {error}") from None


def _unambiguous(questions: frozenset[Question]) -> None:
    patterns = sorted(question.pattern for question in questions if isinstance(question, Read))
    twice = {one for one, other in itertools.pairwise(patterns) if one == other}
    require(not twice, f"asked twice, and differently: {', '.join(sorted(twice))}")


def the_same_facts_give_the_same_answers(adapter: Adapter, sample: Sample) -> None:
    """No method keeps anything, or depends on when it is called."""
    facts = answered(adapter, sample)
    require(
        adapter.questions(sample.wish, facts) == adapter.questions(sample.wish, facts),
        "the same facts give other questions",
    )
    first, second = plans(adapter, sample.wish, facts), plans(adapter, sample.wish, facts)
    require(first == second, "the same facts give another plan")
    for plan in first:
        same = adapter.loaders(plan.target, plan.planned)
        require(same == adapter.loaders(plan.target, plan.planned), "another loader command")


def targets_are_told_apart(adapter: Adapter, sample: Sample) -> None:
    """Each target is of this client and wish, has a name of its own and its files by role."""
    found = [plan.target for plan in _drifting(adapter, sample)]
    names = [target.name for target in found]
    require(len(set(names)) == len(names), f"two targets have one name: {names}")
    for target in found:
        require(target.client == adapter.name, f"{target.name} is of the client {target.client}")
        require(target.wish == sample.wish, f"{target.name} has another wish")
        require(not target.absent, f"{target.name} is absent: {target.absent}")
        require(target.credential.opens, f"{target.name}: {target.credential.cause}")
        require(bool(target.credential.trace), f"{target.name} tells of no place for its key")
        require(bool(target.installations), f"{target.name} has no installation")


def an_absent_client_is_said(adapter: Adapter, sample: Sample) -> None:
    """With nothing there every target says why it counts as not installed."""
    found = plans(adapter, sample.wish, answered(adapter, sample.bare()))
    require(bool(found), "a host without the client has no target, so nothing would be reported")
    for plan in found:
        require(plan.outcome is Outcome.ABSENT, f"it is {plan.outcome.value}, not absent")


def a_closed_gate_still_plans(adapter: Adapter, sample: Sample) -> None:
    """Without its key a target is refused with cause, step and places, and drift is shown."""
    opened = {plan.target.name: plan for plan in _drifting(adapter, sample)}
    closed = plans(adapter, sample.wish, answered(adapter, sample.without_key()))
    require(len(closed) == len(opened), "without a key there are other targets")
    for plan in closed:
        credential = plan.target.credential
        require(not credential.opens, f"{plan.target.name} opens its gate without a key")
        require(bool(credential.step), f"{plan.target.name} does not say what to do")
        require(bool(credential.trace), f"{plan.target.name} tells of no place it looked at")
        require(plan.outcome is Outcome.REFUSED, f"{plan.target.name} is not refused")
        same = plan.planned.changes == opened[plan.target.name].planned.changes
        require(same, f"{plan.target.name} shows other changes without a key")


def what_cannot_be_read_is_refused(adapter: Adapter, sample: Sample) -> None:
    """A file that would be edited and does not parse is refused by name and place."""
    for path in _edited(adapter, sample):
        for content in BROKEN:
            refused = _refused(adapter, sample.with_file(path, content), path)
            told = any(path in reason and "line" in reason for reason in refused)
            require(told, f"{path} with {content!r} is refused without name or line: {refused}")
        for odd in odd_files(path):
            refused = _refused(adapter, sample.with_file(path, odd), path)
            told = any(path in reason for reason in refused)
            require(told, f"{path} as {odd.kind.value} is refused without its name: {refused}")


def what_holds_nothing_expected_is_not_filled(adapter: Adapter, sample: Sample) -> None:
    """Empty and strange contents of any file raise nothing; of an edited one: refused."""
    edited = _edited(adapter, sample)
    for path in map(full, sample.files):
        for content in (*ODD, *BROKEN):
            survives(adapter, sample, path, content)
        for odd in (FileFact(path, FileKind.ABSENT), *odd_files(path)):
            plans(adapter, sample.wish, answered(adapter, sample.with_file(path, odd)))
    for path in edited:
        for content in ODD:
            _refused(adapter, sample.with_file(path, content), path)


def survives(adapter: Adapter, sample: Sample, path: str, content: bytes) -> None:
    """Whatever the file holds, the adapter plans or refuses; what it plans is sound."""
    host = sample.with_file(path, content)
    for plan in plans(adapter, host.wish, answered(adapter, host)):
        _sound(plan)
        adapter.loaders(plan.target, plan.planned)


def a_plan_is_sound(adapter: Adapter, sample: Sample) -> None:
    """Its splices give exactly its outcome, which parses; its files are the target's."""
    for plan in _drifting(adapter, sample):
        _sound(plan)


def _sound(plan: Plan) -> None:
    for edit in plan.planned.edits:
        before = content_of(edit)
        require(
            apply_splices(before, edit.splices) == edit.after.reveal(),
            f"the splices of {edit.file.path} do not give its outcome",
        )
        require(bool(edit.splices), f"{edit.file.path} is edited and stays the same")
        require(
            edit.file in plan.target.files.values(),
            f"{edit.file.path} is edited and no file of the target",
        )
        document_of(edit, edit.after.reveal())


def a_plan_changes_what_it_names(adapter: Adapter, sample: Sample) -> None:
    """Every value that differs is named by a change, and every change names a managed key."""
    for plan in _drifting(adapter, sample):
        _named(plan.planned, sample)
        keys = {part for change in plan.planned.changes for part in change.key.split(".")}
        for edit in plan.planned.edits:
            before = leaves(document_of(edit, content_of(edit)).root)
            after = leaves(document_of(edit, edit.after.reveal()).root)
            for path, _ in before ^ after:
                told = f"{edit.file.path}: {'.'.join(path)} changes and no change names it"
                require(bool(keys & set(path)), told)


def _named(planned: Planned, sample: Sample) -> None:
    files = {edit.file.path for edit in planned.edits}
    for change in planned.changes:
        told = f"{change.subject} {change.key}"
        require(change.key.partition(".")[0] in sample.managed, f"{told} is not a managed key")
        require(change.before != change.after, f"{told} does not change")
        require(change.file in files, f"{told}: {change.file} is not edited")
    silent = files - {change.file for change in planned.changes}
    require(not silent, f"edited without a change that tells it: {', '.join(sorted(silent))}")


def a_plan_of_its_outcome_is_empty(adapter: Adapter, sample: Sample) -> None:
    """Once written, nothing is left to change."""
    host = sample
    for plan in _drifting(adapter, sample):
        for edit in plan.planned.edits:
            host = host.with_file(edit.file.path, edit.after.reveal())
    for plan in plans(adapter, host.wish, answered(adapter, host)):
        outcome = plan.outcome.value
        require(plan.outcome is Outcome.IN_STEP, f"after its plan {plan.target.name} is {outcome}")


def secrets_do_not_show(adapter: Adapter, sample: Sample) -> None:
    """Nothing said of the sample's host, whole or cut off anywhere, holds its secrets."""
    held = [(full(path), one) for path, one in sample.files.items() if isinstance(one, bytes)]
    for secret in sample.secrets:
        planted = any(secret.encode() in content for _, content in held)
        require(planted, "a secret of the sample stands in none of its files")
    _silent(adapter, sample)
    for path, content in held:
        for at in range(1, len(content), max(1, len(content) // 16)):
            _silent(adapter, sample.with_file(path, content[:at]))


def _silent(adapter: Adapter, host: Sample) -> None:
    for plan in plans(adapter, host.wish, answered(adapter, host)):
        said = repr((plan.target, plan.planned, plan.refusals))
        said += repr(adapter.loaders(plan.target, plan.planned))
        said += repr(diff.diffs(plan.planned, host.wish.known))
        for secret in host.secrets:
            require(secret not in said, f"{plan.target.name} shows a secret of the host's files")


def nested_values_do_not_show(adapter: Adapter, sample: Sample) -> None:
    """Where a managed value should be and a whole structure stands, none of it is shown."""
    for plan in _drifting(adapter, sample):
        for edit in plan.planned.edits:
            require(bool(edit.managed), f"{edit.file.path} has no managed path to show")
            found = document_of(edit, content_of(edit))
            for path in edit.managed:
                made = found.edit([Set(path, {"inner": _HIDDEN})]).data
                host = sample.with_file(edit.file.path, made)
                _silent(adapter, replace(host, secrets=(_HIDDEN,)))


def loader_commands_are_bounded_and_private(adapter: Adapter, sample: Sample) -> None:
    """Each runs in a home of its own, on copies, within limits, and is told no secret."""
    for plan in _drifting(adapter, sample):
        commands = adapter.loaders(plan.target, plan.planned)
        least = len(plan.target.installations)
        require(len(commands) >= least, "an installation is not asked about the candidate")
        for command in commands:
            bounded(command, MOST_SECONDS)
            _private(command, plan.target, sample)


def _private(command: Command, target: Target, sample: Sample) -> None:
    told = " ".join(command.argv)
    home = dict(command.env).get("HOME", "")
    apart = home.startswith(SCRATCH) or any(word in command.argv for word in sample.at_home)
    require(apart, f"HOME is {home or 'not set'}, not {SCRATCH}: {told}")
    inside(command, target)


def a_loader_is_not_believed_blindly(adapter: Adapter, sample: Sample) -> None:
    """Garbage, failures and silence never raise, never agree, and are not repeated."""
    for plan in _drifting(adapter, sample):
        number = len(adapter.loaders(plan.target, plan.planned))
        for done in endings(sample.nearly):
            found = adapter.loaded(plan.target, plan.planned, (done,) * number)
            require(not found.agrees, f"its loader agrees by {done}")
            require(bool(found.reason), f"it does not say why it disagrees with {done}")
            require(CANARY not in repr(found), "it repeats what the client printed")


def what_travels_is_picklable(adapter: Adapter, sample: Sample) -> None:
    """What is told of a target goes from the host's step to the operator."""
    for plan in _drifting(adapter, sample):
        target, planned = plan.target, plan.planned
        number = len(adapter.loaders(target, planned))
        loaded = adapter.loaded(target, planned, (Done(False, problem="gone"),) * number)
        for one in (
            sample.wish, target.installations, target.credential, target.refusals, target.notes,
            dict(target.context), planned.changes, planned.notes, planned.refusals, loaded,
        ):
            require(_travels(one), f"{plan.target.name}: {one!r} does not travel")


def _travels(one: object) -> bool:
    try:
        return bool(pickle.loads(pickle.dumps(one)) == one)  # noqa: S301 - dumped here
    except (pickle.PicklingError, AttributeError, TypeError):    # as pickle words it by type
        return False


RULES: Final[tuple[Rule, ...]] = (
    a_name_that_fleet_toml_can_hold,
    questions_only_read_and_end,
    the_same_facts_give_the_same_answers,
    targets_are_told_apart,
    an_absent_client_is_said,
    a_closed_gate_still_plans,
    what_cannot_be_read_is_refused,
    what_holds_nothing_expected_is_not_filled,
    a_plan_is_sound,
    a_plan_changes_what_it_names,
    a_plan_of_its_outcome_is_empty,
    secrets_do_not_show,
    nested_values_do_not_show,
    loader_commands_are_bounded_and_private,
    a_loader_is_not_believed_blindly,
    what_travels_is_picklable,
    a_new_key_has_a_place_or_lines,
    a_turn_is_bounded_and_private,
    a_turn_is_not_believed_blindly,
)


# --- what the rules share ----------------------------------------------------------


def _told(questions: frozenset[Question]) -> str:
    return ", ".join(sorted(map(repr, questions)))


def _drifting(adapter: Adapter, sample: Sample) -> tuple[Plan, ...]:
    """The sample's plans; it is of no use unless something is to be changed."""
    found = plans(adapter, sample.wish, answered(adapter, sample))
    for plan in found:
        why = "; ".join((plan.target.absent, *(one.reason for one in plan.refusals)))
        require(
            plan.outcome is Outcome.DRIFT,
            f"the sample's {plan.target.name} is {plan.outcome.value}, not in drift: {why}",
        )
    require(bool(found), "the sample has no target")
    return found


def _edited(adapter: Adapter, sample: Sample) -> list[str]:
    planned = (plan.planned for plan in _drifting(adapter, sample))
    return [edit.file.path for one in planned for edit in one.edits]


def _refused(adapter: Adapter, host: Sample, path: str) -> list[str]:
    """Why the targets are refused that would have edited `path`."""
    found = plans(adapter, host.wish, answered(adapter, host))
    about = [plan for plan in found if path in {one.path for one in plan.target.files.values()}]
    require(bool(about), f"no target has {path} any more")
    for plan in about:
        outcome = plan.outcome.value
        require(plan.outcome is Outcome.REFUSED, f"{path} cannot be used, and {plan.target.name} "
                                                  f"is {outcome}, not refused")
    return [refusal.reason for plan in about for refusal in plan.refusals]
