"""What the contract is worth: each of these adapters breaks one rule, and is told so."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from fleetsync.adapter import (
    SCRATCH,
    Command,
    Credential,
    Done,
    Keep,
    Loaded,
    Look,
    Planned,
    ScratchFile,
    Seen,
    Target,
    Turn,
    Wish,
)
from fleetsync.documents import Dialect, Splice, apply_splices, parse
from fleetsync.facts import (
    Ask,
    Facts,
    Place,
    PlaceFact,
    PlaceKind,
    Question,
    Read,
    Variable,
    Verdict,
)
from fleetsync.sealed import Sealed
from fleetsync.testing import contract, optional
from fleetsync.testing.contract import ContractError, Rule
from tests.adapters.fourth.fleetsync_nib import FILE, NibAdapter
from tests.adapters.fourth.test_nib import SAMPLE


class AsksMore(NibAdapter):
    def __init__(self, *more: Question) -> None:
        self.more = more

    def questions(self, wish: Wish, facts: Facts) -> frozenset[Question]:
        return super().questions(wish, facts) | frozenset(self.more)


class AsksWithoutEnd(NibAdapter):
    def questions(self, wish: Wish, facts: Facts) -> frozenset[Question]:
        return super().questions(wish, facts) | {
            Read(f"~/{number}") for number in range(len(facts.answers) + 1)
        }


class Forgets(NibAdapter):
    def questions(self, wish: Wish, facts: Facts) -> frozenset[Question]:
        asked = super().questions(wish, facts)
        return frozenset({FILE, Read("~/more")}) if facts.answers else asked


class Badly(NibAdapter):
    name = "Nib"


class Says(NibAdapter):
    """Its targets say what `said` holds."""

    def __init__(self, **said: object) -> None:
        self.said = said

    def targets(self, wish: Wish, facts: Facts) -> tuple[Target, ...]:
        return tuple(
            replace(one, **self.said)  # type: ignore[arg-type]  # any field of a target
            for one in super().targets(wish, facts)
        )


class Twins(NibAdapter):
    def targets(self, wish: Wish, facts: Facts) -> tuple[Target, ...]:
        return super().targets(wish, facts) * 2


class Nowhere(NibAdapter):
    def targets(self, wish: Wish, facts: Facts) -> tuple[Target, ...]:
        return tuple(one for one in super().targets(wish, facts) if not one.absent)


class Blind(NibAdapter):
    """Without a key it shows no drift."""

    def plan(self, target: Target) -> Planned:
        return super().plan(target) if target.credential.opens else Planned()


class Fills(NibAdapter):
    """What it cannot read it takes for nothing to do."""

    def targets(self, wish: Wish, facts: Facts) -> tuple[Target, ...]:
        return tuple(replace(one, refusals=()) for one in super().targets(wish, facts))

    def plan(self, target: Target) -> Planned:
        content = target.files["catalog"].content
        good = content is not None and content.reveal().startswith(b'{\n  "router"')
        return super().plan(target) if good else Planned()


class Counts(NibAdapter):
    numbers = itertools.count()

    def plan(self, target: Target) -> Planned:
        return replace(super().plan(target), notes=(str(next(self.numbers)),))


class Edits(NibAdapter):
    """It adds a splice; its outcome and its changes are as before, unless told."""

    def __init__(self, splice: Splice, *, told: bool) -> None:
        self.splice, self.told = splice, told

    def plan(self, target: Target) -> Planned:
        planned = super().plan(target)
        edits = []
        for edit in planned.edits:
            content = edit.file.content or Sealed(b"")
            splices = tuple(sorted((*edit.splices, self.splice), key=lambda one: one.start))
            after = apply_splices(content.reveal(), splices)
            edits.append(replace(edit, splices=splices, after=Sealed(after) if self.told
                                 else edit.after))
        return replace(planned, edits=tuple(edits))


class Restless(NibAdapter):
    """Once it has what it wished it wishes for something else."""

    def plan(self, target: Target) -> Planned:
        first = target.wish.aliases[0].model_copy(update={"context_window": 7000})
        other = replace(target, wish=replace(target.wish, aliases=(first,)))
        planned = super().plan(target)
        return planned if planned.edits else super().plan(other)


class Renames(NibAdapter):
    """Its changes are of another key."""

    def plan(self, target: Target) -> Planned:
        planned = super().plan(target)
        return replace(planned, changes=tuple(replace(c, key="note") for c in planned.changes))


class Tells(NibAdapter):
    """Its changes tell what the file holds beside."""

    def plan(self, target: Target) -> Planned:
        planned, content = super().plan(target), target.files["catalog"].content
        return replace(planned, notes=(str(content and content.reveal()),))


class Spells(NibAdapter):
    """Its changes show whatever stands where a limit should be."""

    def plan(self, target: Target) -> Planned:
        planned, content = super().plan(target), target.files["catalog"].content
        found = parse((content or Sealed(b"")).reveal(), Dialect.JSON)
        return replace(planned, changes=tuple(
            replace(one, before=str(found.value(("models", one.subject, one.key))))
            for one in planned.changes
        ))  # fmt: skip


class Runs(NibAdapter):
    """Its command has other fields."""

    def __init__(self, **said: object) -> None:
        self.said = said

    def loaders(self, target: Target, planned: Planned) -> tuple[Command, ...]:
        return tuple(
            replace(one, **self.said)  # type: ignore[arg-type]  # any field of a command
            for one in super().loaders(target, planned)
        )


class Believes(NibAdapter):
    def loaded(self, target: Target, planned: Planned, done: tuple[Done, ...]) -> Loaded:
        return Loaded(all(one.started and not one.status for one in done), "no")


class Repeats(NibAdapter):
    def loaded(self, target: Target, planned: Planned, done: tuple[Done, ...]) -> Loaded:
        return Loaded(False, f"no: {done[0].stdout.reveal()!r}")


class Keeps(NibAdapter):
    """It names this for a new key."""

    def __init__(self, kept: Keep) -> None:
        self.kept = kept

    def keep(self, target: Target) -> Keep:
        return self.kept


class Turns(NibAdapter):
    """It takes turns; its command has other fields, and its default is another."""

    def __init__(self, default: str = "llm.primary", **said: object) -> None:
        self.default, self.said = default, said

    def default_alias(self, target: Target) -> str:
        return self.default

    def tool(self, target: Target) -> str:
        return "read"

    def turn(self, target: Target, turn: Turn) -> Command:
        nonce = ScratchFile("nonce.txt", content=turn.nonce.encode())
        made = Command(("/usr/bin/nib", "ask"), (("HOME", SCRATCH),), (nonce,), seconds=60)
        return replace(made, **self.said)  # type: ignore[arg-type]  # any field of a command

    def seen(self, target: Target, turn: Turn, done: Done) -> Seen:
        return Seen()


class Whispers(Turns):
    """Its command line holds what must come back."""

    def turn(self, target: Target, turn: Turn) -> Command:
        made = super().turn(target, turn)
        return replace(made, argv=(*made.argv, turn.nonce))


class Passes(Turns):
    """Whatever comes, it tells of a good turn."""

    def seen(self, target: Target, turn: Turn, done: Done) -> Seen:
        return Seen(
            provider="anvil", model=turn.alias.name, tools=("read",), stop="stop",
            text=Sealed(turn.nonce.encode()), requested=True,
        )


class Quotes(Turns):
    """Its account of a failure is the client's own text."""

    def seen(self, target: Target, turn: Turn, done: Done) -> Seen:
        return Seen(fault="crash", problem=done.stderr.reveal().decode("utf-8", "replace"))


def test_an_adapter_that_takes_turns_and_keeps_keys_passes() -> None:
    class Both(Turns, Keeps):
        def __init__(self) -> None:
            Turns.__init__(self)
            Keeps.__init__(self, Keep(Place(PlaceKind.JSON, "~/auth.json", "nib"), "[", "]"))

    for rule in contract.RULES:
        rule(Both(), SAMPLE)


KEEP, TURN = optional.a_new_key_has_a_place_or_lines, optional.a_turn_is_bounded_and_private
BELIEVE = optional.a_turn_is_not_believed_blindly
OTHER = ScratchFile("../nonce.txt", content=b"x")
SECRET_AT_HOME = (("HOME", "/home/u"),)
FAULTS: Mapping[str, tuple[Rule, NibAdapter, str]] = {
    "a bad name": (contract.a_name_that_fleet_toml_can_hold, Badly(), "cannot be a client's name"),
    "runs a program": (
        contract.questions_only_read_and_end, AsksMore(Ask(("nib",))), "a probe only reads",
    ),
    "asks without end": (
        contract.questions_only_read_and_end, AsksWithoutEnd(), "still asks after 12 rounds",
    ),
    "forgets a question": (contract.questions_only_read_and_end, Forgets(), "no longer asks"),
    "no variable": (
        contract.questions_only_read_and_end, AsksMore(Variable("a b")), "cannot be put",
    ),
    "two meanings": (
        contract.questions_only_read_and_end, AsksMore(replace(FILE, cap=1)), "asked twice",
    ),
    "another plan": (contract.the_same_facts_give_the_same_answers, Counts(), "another plan"),
    "twins": (contract.targets_are_told_apart, Twins(), "two targets have one name"),
    "another client": (contract.targets_are_told_apart, Says(client="pi"), "of the client pi"),
    "absent unsaid": (contract.an_absent_client_is_said, Says(absent=""), "not absent"),
    "no target": (contract.an_absent_client_is_said, Nowhere(), "nothing would be reported"),
    "an open gate": (
        contract.a_closed_gate_still_plans,
        Says(credential=Credential((Look("here", PlaceFact(Verdict.RESOLVES)),))),
        "without a key",
    ),
    "blind without a key": (contract.a_closed_gate_still_plans, Blind(), "other changes"),
    "broken is nothing": (contract.what_cannot_be_read_is_refused, Fills(), "not refused"),
    "empty is nothing": (
        contract.what_holds_nothing_expected_is_not_filled, Fills(), "not refused",
    ),
    "another outcome": (
        contract.a_plan_is_sound, Edits(Splice(0, 0, b" "), told=False), "do not give its outcome",
    ),
    "breaks the file": (
        contract.a_plan_is_sound, Edits(Splice(0, 0, b"x"), told=True), "would not parse",
    ),
    "changes more": (
        contract.a_plan_changes_what_it_names, Edits(Splice(5, 5, b"s"), told=True),
        "no change names it",
    ),
    "another key": (contract.a_plan_changes_what_it_names, Renames(), "not a managed key"),
    "never done": (contract.a_plan_of_its_outcome_is_empty, Restless(), "is drift"),
    "tells a secret": (contract.secrets_do_not_show, Tells(), "shows a secret"),
    "a secret argument": (
        contract.secrets_do_not_show, Runs(argv=("/n", SAMPLE.secrets[0])), "shows a secret",
    ),
    "spells what it finds": (
        contract.nested_values_do_not_show, Spells(), "shows a secret",
    ),
    "the real home": (
        contract.loader_commands_are_bounded_and_private, Runs(env=SECRET_AT_HOME), "not @scratch@",
    ),
    "no end": (
        contract.loader_commands_are_bounded_and_private, Runs(seconds=10**6), "1000000 seconds",
    ),
    "endless output": (
        contract.loader_commands_are_bounded_and_private, Runs(cap=10**12), "bytes of output",
    ),
    "a bare name": (
        contract.loader_commands_are_bounded_and_private, Runs(argv=("nib",)), "by its path",
    ),
    "believes": (contract.a_loader_is_not_believed_blindly, Believes(), "its loader agrees"),
    "does not travel": (
        contract.what_travels_is_picklable, Says(context={"later": lambda: "x"}),
        "does not travel",
    ),
    "no place for a key": (KEEP, Keeps(Keep()), "neither a place for a new key nor lines"),
    "a key in a variable": (
        KEEP, Keeps(Keep(Place(PlaceKind.LOGIN, "", "KEY"))), "cannot be kept in a place of kind",
    ),
    "a key in no JSON": (
        KEEP, Keeps(Keep(Place(PlaceKind.JSON, "~/a", "k"), '{"key": ')), "is no JSON",
    ),
    "lines with a secret": (KEEP, Keeps(Keep(lines=SAMPLE.secrets[0])), "shows a secret"),
    "a turn without end": (TURN, Turns(seconds=3600), "3600 seconds"),
    "a turn that waits": (TURN, Turns(stdin=b"x", until="y"), "stdin is /dev/null"),
    "a turn that writes elsewhere": (TURN, Turns(files=(OTHER,)), "inside the scratch"),
    "a turn that takes from elsewhere": (TURN, Turns(returns=("/etc/x",)), "inside the scratch"),
    "a turn without a nonce": (TURN, Turns(files=()), "no file of it holds the nonce"),
    "a nonce in the prompt": (TURN, Whispers(), "shows the nonce"),
    "a secret in a turn": (
        TURN, Turns(env=(("HOME", SCRATCH), ("KEY", SAMPLE.secrets[0]))), "shows a secret",
    ),
    "a key given twice": (
        TURN, Turns(env=(("K", ""),), keys=(("K", Place(PlaceKind.LOGIN, "", "K")),)),
        "given twice",
    ),
    "a default of its own": (TURN, Turns("gpt"), "none of the wish"),
    "passes": (BELIEVE, Passes(), "a turn passes by"),
    "quotes": (BELIEVE, Quotes(), "repeats what"),
    "repeats": (contract.a_loader_is_not_believed_blindly, Repeats(), "repeats what"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told(fault: str) -> None:
    rule, adapter, told = FAULTS[fault]
    with pytest.raises(ContractError, match=re.escape(told)):
        rule(adapter, SAMPLE)
