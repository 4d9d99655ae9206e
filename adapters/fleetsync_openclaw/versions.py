"""What differs between OpenClaw versions, as far as a catalog depends on it.

Measured on 2026.6.11 and 2026.9.6 (`config schema`, `config validate`). OpenClaw's
schema is closed: one key that a version does not know keeps its gateway from starting.
"""

from __future__ import annotations

from dataclasses import dataclass

from fleetsync.programs import Program
from fleetsync.releases import Number, number, untested

PROGRAM = Program(
    "openclaw", "OpenClaw",
    packages=("openclaw",),
    # These change with the code; the launcher openclaw.mjs does not.
    runtimes=("dist/build-info.json", "dist/entry.js"),
)
TESTED = ("2026.6.11", "2026.9.6")

_ALWAYS = frozenset((
    "maxTokensField reasoningEffortMap requiresAssistantAfterToolResult "
    "requiresOpenAiAnthropicToolPayload requiresReasoningContentOnAssistantMessages "
    "requiresStringContent requiresThinkingAsText requiresToolResultName strictMessageKeys "
    "supportedReasoningEfforts supportsDeveloperRole supportsPromptCacheKey "
    "supportsReasoningEffort supportsStore supportsStrictMode supportsTools "
    "supportsUsageInStreaming thinkingFormat toolCallArgumentsEncoding toolSchemaProfile "
    "unsupportedToolSchemaKeywords visibleReasoningDetailTypes"
).split())
_LEFT = frozenset(("nativeWebSearchTool", "requiresMistralToolIds"))
_CAME = frozenset((
    "cacheControlFormat codeMode openRouterRouting sendSessionAffinityHeaders "
    "sendSessionIdHeader supportsEagerToolInputStreaming supportsInstructions "
    "supportsJsonSchemaResponseFormat supportsLongCacheRetention supportsResponsesContinuation "
    "supportsTemperature vercelGatewayRouting zaiToolStream"
).split())


@dataclass(frozen=True, slots=True)
class Version:
    """One version of OpenClaw and what it does."""

    text: str
    number: Number

    @property
    def compat(self) -> frozenset[str]:
        """The compat keys that its schema knows: those of the nearest tested version."""
        return _ALWAYS | (_CAME if self.is_new else _LEFT)

    @property
    def is_new(self) -> bool:
        """Its schema is the newer one (2026.8.2 and 2026.9.6): no `meta.lastTouchedAt`, no
        compaction reserves. 2026.6.11 has both; what lies between was not run."""
        return self.number >= (2026, 8, 0)

    def runs_on(self, node: str) -> bool:
        """Whether it starts on a Node of this version (package.json "engines"); an unknown
        version may do."""
        found = number(node)
        if found is None:
            return True
        if not self.is_new:
            return found >= (22, 19, 0)
        return (24, 16, 0) <= found < (25, 0, 0) or found >= (26, 1, 0)

    @property
    def node(self) -> str:
        """The Nodes that it starts on, in words."""
        return "24.16 or later of 24, or 26.1 and later" if self.is_new else "22.19 or later"

    @property
    def notice(self) -> str:
        """What the operator must know about a version that was not tested; else ""."""
        return untested("OpenClaw", self.text, TESTED)


def parse(text: str) -> Version | None:
    """The version that `text` spells, None when it spells none."""
    found = number(text)
    return None if found is None else Version(text, found)
