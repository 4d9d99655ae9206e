"""Hand-made results, and a `fleet.run` that gives them: the CLI without hosts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fleetsync.job import Job, Step
from fleetsync.outcome import (
    AccountRow,
    ChangeRow,
    FileDiff,
    FileRow,
    HostResult,
    InstallationRow,
    Outcome,
    TargetResult,
    TraceRow,
)
from fleetsync.own_secrets import OwnSecrets

MODELS = "/home/op/.pi/agent/models.json"
DIFF = FileDiff(
    MODELS,
    MODELS,
    f'--- {MODELS}\n+++ {MODELS} (planned)\n@@ -1,1 +1,1 @@\n-"contextWindow": 524288\n'
    '+"contextWindow": 393216\n',
    before="a" * 64,
    after="b" * 64,
)
CHANGES = (
    ChangeRow(MODELS, "llm.primary", "contextWindow", "524288", "393216"),
    ChangeRow(MODELS, "llm.primary", "maxTokens", "8192", "4096"),
)
INSTALLATION = InstallationRow(
    "/home/op/.local/bin/pi", "PATH", "@earendil-works/pi-coding-agent", "1.6.0",
    interpreter="/usr/bin/node", interpreter_version="24.19.0",
)
TRACE = (
    TraceRow("~/.pi/agent/auth.json anvil.key", "absent"),
    TraceRow("~/.pi/agent/models.json apiKey", "reference", "ROUTER_API_KEY"),
    TraceRow("ROUTER_API_KEY mentioned in ~/.bashrc", "present", explains=True),
)


def target(host: str, outcome: Outcome, **more: object) -> TargetResult:
    """A Pi target with the given outcome."""
    return TargetResult(host, "pi", "pi", outcome, **more)  # type: ignore[arg-type] # any field


def in_step(host: str) -> HostResult:
    return HostResult(host, (target(host, Outcome.IN_STEP, installations=(INSTALLATION,)),))


def drift(host: str) -> HostResult:
    found = target(
        host,
        Outcome.DRIFT,
        changes=CHANGES,
        diffs=(DIFF,),
        installations=(INSTALLATION,),
        files=(FileRow("models", MODELS, MODELS, "file", "0600", "a" * 64),),
    )
    return HostResult(host, (found,))


def changed(host: str) -> HostResult:
    found = target(
        host, Outcome.CHANGED, changes=CHANGES, diffs=(DIFF,), loader="agrees",
        bundle="/home/op/.local/state/fleetsync/txn/1.done",
    )
    return HostResult(host, (found,))


def refused(host: str) -> HostResult:
    found = target(
        host,
        Outcome.REFUSED,
        reason="no key of its own",
        step="set ROUTER_API_KEY there",
        changes=CHANGES,
        diffs=(DIFF,),
        trace=TRACE,
    )
    return HostResult(host, (found,))


def alone(host: str, outcome: Outcome, reason: str = "why", step: str = "what next") -> HostResult:
    return HostResult(host, outcome=outcome, reason=reason, step=step)


def account() -> AccountRow:
    state = "/home/op/.local/state/fleetsync"
    return AccountRow("op", "/home/op", "/bin/bash", "Linux", state=state)


@dataclass
class FakeFleet:
    """Answers `fleet.run` from a table: what each host comes to in each step."""

    results: dict[tuple[Step, str], HostResult] = field(default_factory=dict)
    ran: list[Job] = field(default_factory=list)
    before_each: Callable[[Job], None] = lambda job: None

    def set(self, step: Step, *results: HostResult) -> None:
        self.results |= {(step, result.host): result for result in results}

    def run(
        self,
        jobs: Sequence[Job],
        *,
        workers: int,
        started: Callable[[str], None],
        finished: Callable[[HostResult], None],
        stopped: Callable[[], bool] = lambda: False,
        secrets: OwnSecrets | None = None,
    ) -> tuple[HostResult, ...]:
        done = []
        for job in jobs:
            if stopped():
                break
            started(job.host.name)
            self.ran.append(job)
            self.before_each(job)
            done.append(self.results[job.step, job.host.name])
            finished(done[-1])
        return tuple(done)

    def steps(self, step: Step) -> list[str]:
        """The hosts on which `step` ran."""
        return [job.host.name for job in self.ran if job.step is step]


FLEET = """\
[router]
provider = "anvil"
base_url = "https://router.example.net/v1"
credential = "ROUTER_API_KEY"
[hosts.one]
clients = ["pi"]
groups = ["canary"]
[hosts.two]
clients = ["pi"]
[hosts.three]
clients = ["pi"]
"""
CATALOG = """\
[aliases."llm.primary"]
context_window = 393216
max_output_tokens = 4096
"""


def write_inventory(directory: Path, fleet: str = FLEET, catalog: str = CATALOG) -> Path:
    """An inventory of three hosts."""
    directory.mkdir()
    (directory / "fleet.toml").write_text(fleet)
    (directory / "catalog.toml").write_text(catalog)
    return directory
