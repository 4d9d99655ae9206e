"""New values as YAML text: block lines, or flow on one line, in the neighbours' style."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from fleetsync.documents.tree import Value
from fleetsync.documents.yaml_layout import Style
from fleetsync.documents.yaml_spell import spell

Scalar: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Writer:
    """Spells values in one style. Lines carry no break and no indentation of their own place."""

    style: Style
    flow: bool = False

    def scalar(self, value: Scalar) -> str:
        """One scalar value."""
        style = self.style
        return spell(value, style.quote, flow=self.flow, quoted=style.values_quoted)

    def key(self, key: str) -> str:
        """One key."""
        return spell(key, self.style.quote, flow=self.flow, quoted=self.style.keys_quoted)

    def entry(self, key: str, value: Value) -> list[str]:
        """The lines of one entry of a block mapping."""
        head = f"{self.key(key)}{self.style.before}:"
        if isinstance(value, list | dict) and value:
            offset = self.style.dash if isinstance(value, list) else self.style.step
            return [head, *(" " * offset + line for line in self.below().lines(value))]
        return [f"{head}{self.style.after or ' '}{self.inline(value)}"]

    def item(self, value: Value) -> list[str]:
        """The lines of one item of a block list."""
        head, *rest = self.below().lines(value) if isinstance(value, list | dict) else [
            self.inline(value)
        ]
        indent = " " * (1 + len(self.style.gap))
        return [f"-{self.style.gap}{head}", *(indent + line for line in rest)]

    def below(self) -> Writer:
        """The writer of what is nested one level deeper."""
        return Writer(self.style.below(), self.flow)

    def lines(self, value: Value) -> list[str]:
        """The lines of `value` in block style; a scalar or an empty collection is one."""
        if isinstance(value, dict) and value:
            return [line for key, held in value.items() for line in self.entry(key, held)]
        if isinstance(value, list) and value:
            return [line for held in value for line in self.item(held)]
        return [self.inline(value)]

    def inline(self, value: Value) -> str:
        """`value` on one line: flow style for a collection."""
        inner = Writer(self.style.below(), flow=True)
        if isinstance(value, dict):
            pad = self.style.pad if value else ""
            held = ", ".join(inner.flow_entry(key, one) for key, one in value.items())
            return f"{{{pad}{held}{pad}}}"
        if isinstance(value, list):
            return f"[{', '.join(inner.inline(one) for one in value)}]"
        return self.scalar(value)

    def flow_entry(self, key: str, value: Value) -> str:
        """One entry of a flow mapping."""
        return f"{self.key(key)}{self.style.before}:{self.style.after}{self.inline(value)}"
