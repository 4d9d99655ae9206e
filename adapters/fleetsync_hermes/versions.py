"""What changed between Hermes versions, as far as a catalog or a credential depends on it.

Behaviour was measured on 0.19.0 and 0.18.2; what later versions do is from their public
pull requests, so they are never called tested.
"""

from __future__ import annotations

from dataclasses import dataclass

from fleetsync.programs import Program
from fleetsync.releases import Number, number, untested

_CODE = ("hermes_cli/__init__.py", "hermes_cli/config.py", "hermes_cli/runtime_provider.py")
"""Files that change with the code: the first names the version, the others decide on the
limits. bin/hermes is ten lines that never change."""
PROGRAM = Program(
    "hermes", "Hermes Agent",
    packages=("hermes-agent",),
    # The installer's checkout has its code beside the environment, four levels above the
    # packages.
    runtimes=(*_CODE, *(f"../../../../{name}" for name in _CODE)),
)
TESTED = ("0.18.2", "0.19.0")
MINIMUM_WINDOW = 64_000
"""Tokens below which Hermes refuses to start with a model (0.18.2 and 0.19.0,
agent.model_metadata.MINIMUM_CONTEXT_LENGTH)."""
DEFAULT_OUTPUT = 65_536
"""Output tokens that a custom provider is asked for where model.max_tokens is not set
(0.18.2 and 0.19.0, plugins/model-providers/custom)."""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of Hermes and what it does."""

    text: str
    number: Number

    @property
    def sends_max_tokens(self) -> bool:
        """`model.max_tokens` reaches the router; taken out by PR 105020 (release
        2026.9.14, which calls itself 0.21.3)."""
        return self.number < (0, 21, 3)

    @property
    def reasoning_overrides(self) -> bool:
        """`agent.reasoning_overrides` is read (0.19.0); 0.18.2 knows no such key."""
        return self.number >= (0, 19, 0)

    @property
    def key_commands(self) -> bool:
        """A provider's `key_cmd` runs a command for the key and wins (0.20.1)."""
        return self.number >= (0, 20, 1)

    @property
    def disables(self) -> bool:
        """`enabled: false` hides a provider from the resolver (0.19.0)."""
        return self.number >= (0, 19, 0)

    @property
    def notice(self) -> str:
        """What the operator must know about a version that was not tested; else ""."""
        return untested("Hermes", self.text, TESTED)


def parse(text: str) -> Version | None:
    """The version that `text` spells, None when it spells none."""
    found = number(text)
    return None if found is None else Version(text, found)
