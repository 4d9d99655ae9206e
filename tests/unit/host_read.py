"""Hosts to read from: a home in a temporary directory, under every shell found here."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from fleetsync.facts import (
    Answer,
    FileFact,
    HostFacts,
    Installation,
    Locate,
    Place,
    PlaceFact,
    PlaceKind,
    Question,
    Read,
    ReadOnlyQuestion,
    State,
    StateFact,
    Variable,
    VariableFact,
)
from fleetsync.probe import Salts, ask
from fleetsync.remote import Reader
from fleetsync.testing.local import LocalRemote
from tests.integration.faults.host import namespace, shell

SHELLS = tuple(
    name for name in ("dash", "bash", "zsh", "busybox", "mksh", "ksh93") if shutil.which(name)
)
SALTS = Salts("1" * 32, "2" * 32)


@dataclass
class Host:
    """An account whose scripts run under the shell called `name`."""

    folder: Path
    name: str = "dash"
    login: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    user: int | None = None
    within: tuple[str, ...] = ()
    salts: Salts = SALTS
    patience: int = 5

    def __post_init__(self) -> None:
        self.home = self.folder / "home"
        self.home.mkdir(parents=True, exist_ok=True)
        self.tools = self.folder / "tools"
        sh, path = shell(self.name, self.tools)
        # A shell that is called sh reads what sh reads when it logs in: ~/.profile.
        login = shutil.which(self.login) if self.login else None
        self.remote = LocalRemote(
            self.home, login or str(sh), {"PATH": path, **self.environment}, self.user,
            self.within,
        )

    def on_path(self, *directories: str) -> None:
        """Give sessions this PATH; `cat` is on it too, as on any host."""
        plain = self.folder / "plain"
        plain.mkdir(exist_ok=True)
        if not (plain / "cat").exists():
            (plain / "cat").symlink_to(shutil.which("cat") or "cat")
        path = ":".join((*directories, str(plain)))
        self.remote.environment = {**self.remote.environment, "PATH": path}

    def write(self, name: str, content: str | bytes = "", mode: int = 0o600) -> Path:
        """A file below the home, with its directories."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(mode)
        return path

    def ask(self, *questions: ReadOnlyQuestion) -> tuple[HostFacts, dict[Question, Answer]]:
        return ask(Reader(self.remote), questions, self.salts, self.patience)

    def one(self, question: ReadOnlyQuestion) -> Answer:
        return self.ask(question)[1][question]

    def files(self, pattern: str, cap: int = 4096, content: bool = True) -> tuple[FileFact, ...]:
        answer = self.one(Read(pattern, cap, content))
        assert isinstance(answer, tuple)
        return tuple(one for one in answer if isinstance(one, FileFact))

    def file(self, pattern: str, cap: int = 4096, content: bool = True) -> FileFact:
        (fact,) = self.files(pattern, cap, content)
        return fact

    def installations(self, question: Locate) -> tuple[Installation, ...]:
        answer = self.one(question)
        assert isinstance(answer, tuple)
        return tuple(one for one in answer if isinstance(one, Installation))

    def variable(self, name: str) -> VariableFact:
        answer = self.one(Variable(name))
        assert isinstance(answer, VariableFact)
        return answer

    def place(self, kind: PlaceKind, where: str = "", name: str = "") -> PlaceFact:
        answer = self.one(Place(kind, where, name))
        assert isinstance(answer, PlaceFact)
        return answer

    def state(self) -> StateFact:
        answer = self.one(State())
        assert isinstance(answer, StateFact)
        return answer

    @property
    def said(self) -> bytes:
        """All that this host ever answered."""
        return b"".join(one.output for one in self.remote.exchanges)


def alone(script: str) -> tuple[str, ...]:
    """Runs the rest of a command line as "$@" of `script`, in a PID namespace."""
    return namespace("/bin/sh", "-c", script, "sh")
