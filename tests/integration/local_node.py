"""One host with a stand-in Pi behind a local shell, and every step over it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from fleetsync.adapter import Wish
from fleetsync.cli.writing import approved
from fleetsync.fleet import settle
from fleetsync.inventory import Host
from fleetsync.job import Approved, Job, Order, Run, Step
from fleetsync.outcome import HostResult, TargetResult
from fleetsync.probe import Salts
from fleetsync.remote import ANSWER_CAP
from fleetsync.testing.local import LocalRemote
from tests import standin

HOST = Host("node", clients=("pi",))
OLD = standin.models()
NEW = standin.models(393216, 4096)
LATER = standin.models(262144, 2048)
_BACK = (Step.TAKE_BACK, Step.ROLLBACK)


@dataclass
class Node:
    """The host. `before` and `after` happen at every exchange, told its script."""

    home: Path
    before: Callable[[str], None] = lambda script: None
    after: Callable[[str], None] = lambda script: None
    scripts: list[str] = field(default_factory=list)
    runs: int = 0

    def __post_init__(self) -> None:
        self.inner = LocalRemote(self.home, "/bin/bash")

    @property
    def models(self) -> Path:
        return self.home / ".pi/agent/models.json"

    @property
    def bundles(self) -> Path:
        return self.home / ".local/state/fleetsync/txn"

    def do(
        self,
        step: Step,
        order: Order | None = None,
        allowed: tuple[Approved, ...] | None = None,
        wishes: tuple[Wish, ...] | None = None,
    ) -> HostResult:
        self.runs += 1
        run = Run(f"run-{self.runs}", "ada@desk", "desk", "g" * 64)
        wished = (standin.wish(),) if wishes is None else wishes
        job = Job(step, run, HOST, wished, allowed, order or Order())
        return settle(job, Salts.fresh(), lambda host, seconds: self)

    def target(self, step: Step, order: Order | None = None) -> TargetResult:
        result = self.do(step, order, wishes=() if step in _BACK else None)
        assert result.targets, result
        (target,) = result.targets
        return target

    def roll_back(self, **told: object) -> HostResult:
        """What an operator does who agrees to what the preview shows."""
        order = Order(**told)  # type: ignore[arg-type] # any field
        seen = self.do(Step.TAKE_BACK, order, wishes=())
        return self.do(Step.ROLLBACK, order, approved(seen), wishes=())

    def apply(self, window: int = 393216, output: int = 4096) -> TargetResult:
        (target,) = self.do(Step.APPLY, wishes=(standin.wish(window, output),)).targets
        return target

    def connect(self) -> None:
        self.inner.connect()

    def exchange(
        self, command: str, stdin: bytes, end: bytes, *, seconds: float, cap: int = ANSWER_CAP,
        hold: bool = False,
    ) -> bytes:
        script = stdin.decode()
        self.scripts.append(script)
        self.before(script)
        answer = self.inner.exchange(command, stdin, end, seconds=seconds, cap=cap, hold=hold)
        self.after(script)
        return answer

    def close(self) -> None:
        self.inner.close()


def made(folder: Path) -> Node:
    """A host whose Pi holds the old limits and whose key is its own."""
    home = folder / "home"
    home.mkdir()
    standin.install(home)
    standin.write_models(home, OLD)
    standin.give_key(home)
    return Node(home)
