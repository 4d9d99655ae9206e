"""What changed between Pi versions, as far as a catalog or a credential depends on it.

Boundaries are from Pi's own CHANGELOG (1.6.0); behaviour was measured on 0.73.1, 0.84.4
and 1.6.0.
"""

from __future__ import annotations

from dataclasses import dataclass

from fleetsync.programs import Program
from fleetsync.releases import Number, number, untested

PROGRAM = Program(
    "pi", "Pi",
    packages=("@earendil-works/pi-coding-agent", "@mariozechner/pi-coding-agent"),
    # These change with the code; cli.js is a loader that never does.
    runtimes=("dist/bundle/cli-runtime.js", "dist/main.js"),
)
TESTED = ("0.73.1", "0.84.4", "1.6.0")


@dataclass(frozen=True, slots=True)
class Version:
    """One version of Pi and what it does."""

    text: str
    number: Number

    @property
    def dollar_is_variable(self) -> bool:
        """`$NAME` in apiKey or auth.json names a variable (0.77.0); before, it is sent."""
        return self.number >= (0, 77, 0)

    @property
    def bare_is_variable(self) -> bool:
        """A bare NAME is looked up as a variable first; a literal since 0.79.4."""
        return self.number < (0, 79, 4)

    @property
    def rewrites_models(self) -> bool:
        """Any start rewrites models.json and loses its comments (0.77.0 to 0.79.3)."""
        return (0, 77, 0) <= self.number < (0, 79, 4)

    @property
    def needs_api_key(self) -> bool:
        """models.json is rejected whole where a provider has no apiKey (before 0.80.0)."""
        return self.number < (0, 80, 0)

    @property
    def reads_bom(self) -> bool:
        """A byte order mark is skipped; 0.73.1 rejects the file."""
        return self.number >= (0, 84, 0)

    @property
    def overrides_apply(self) -> bool:
        """`modelOverrides` are laid over the provider's own models (0.84.4, not 0.73.1)."""
        return self.number >= (0, 84, 0)

    @property
    def asks_for_trust(self) -> bool:
        """It knows `--no-approve` (0.79.0); before, an unknown option ends it."""
        return self.number >= (0, 79, 0)

    @property
    def settles(self) -> bool:
        """A run ends with the event `agent_settled` (0.80.4)."""
        return self.number >= (0, 80, 4)

    @property
    def node(self) -> Number:
        """The oldest Node that starts it."""
        return (22, 19, 0) if self.number >= (0, 84, 0) else (20, 6, 0)

    @property
    def notice(self) -> str:
        """What the operator must know about a version that was not tested; else ""."""
        return untested("Pi", self.text, TESTED)


def parse(text: str) -> Version | None:
    """The version that `text` spells, None when it spells none."""
    found = number(text)
    return None if found is None else Version(text, found)


def too_old(node: str, needed: Number) -> bool:
    """Whether a known Node version is older than `needed`; unknown is not too old."""
    found = number(node)
    return found is not None and found < needed
