"""What a command works on: the operator's files, the hosts named, this run's identity."""

from __future__ import annotations

import getpass
import os
import shlex
import socket
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from fleetsync import inventory, receipt, registry, withdrawn
from fleetsync.adapter import Wish
from fleetsync.cli.options import Options
from fleetsync.cli.repeat import to_repeat
from fleetsync.errors import UsageError
from fleetsync.inventory import Host, Inventory
from fleetsync.job import Job, Order, Run, Step
from fleetsync.journal import Unsettled, unsettled

BACKUPS = "backups"
"""Where receipts go, beside the inventory, unless `--receipts` says otherwise."""
NAMED_HOSTS = 8
"""How many hosts a suggested command names one by one."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The hosts of one run, each with what is wished of its clients.

    `words` are the hosts as they were typed, `context` the options that a suggested
    command must repeat.
    """

    run: Run
    wishes: tuple[tuple[Host, tuple[Wish, ...]], ...]
    receipts: Path
    words: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    smoke: tuple[str, ...] = ()
    """aliases that [smoke] names besides each target's default"""
    unsettled: tuple[Unsettled, ...] = ()
    """turns of earlier runs on these hosts that have no end on record"""
    taken_back: bool = False
    """whether a rollback took this generation back, so that apply needs --again"""

    def jobs(
        self, step: Step, names: Sequence[str] | None = None, order: Order | None = None
    ) -> list[Job]:
        """One job for each host, or for those in `names`."""
        return [
            Job(
                step, self.run, host, wishes, order=order or Order(),
                unsettled=tuple(u for u in self.unsettled if u.dispatch.host == host.name),
            )
            for host, wishes in self.wishes
            if names is None or host.name in names
        ]

    def command(self, name: str, hosts: Sequence[str]) -> str:
        """A suggested command as it is typed: the hosts one by one, or the words of this
        command where they are many."""
        words = hosts if len(hosts) <= NAMED_HOSTS else self.words
        return shlex.join(("fleetsync", *name.split(), *words, *self.context))


def select(words: Sequence[str], options: Options, *, again: bool = False) -> Selection:
    """Read the operator's files and pick the hosts that `words` name.

    `again` leaves out the notice that a generation which was taken back needs `--again`.
    Raises UsageError or ConfigError; no host is contacted.
    """
    directory = inventory.find(options.inventory, os.environ, Path.cwd())
    fleet = inventory.load(directory, registry.discover())
    wishes = tuple(_wishes(fleet, words, options.client))
    receipts = options.receipts or _beside(directory)
    withdrawal = withdrawn.find(receipts, fleet.catalog.generation)
    told = (f"{withdrawal.told}; apply needs --again",) if withdrawal and not again else ()
    return Selection(
        run=_run(fleet.catalog.generation, options),
        wishes=wishes,
        receipts=receipts,
        words=tuple(words),
        context=to_repeat(options),
        notices=(*fleet.notices, *told),
        smoke=fleet.fleet.smoke.aliases,
        unsettled=unsettled(receipts, {host.name for host, _ in wishes}),
        taken_back=withdrawal is not None,
    )


def select_hosts(words: Sequence[str], options: Options) -> Selection:
    """Pick hosts for what needs no catalog: recover, bundles, rollback.

    It reads fleet.toml alone. Raises UsageError or ConfigError; no host is contacted.
    """
    directory = inventory.find(options.inventory, os.environ, Path.cwd())
    adapters = registry.discover()
    fleet = inventory.load_hosts(directory, adapters)
    known = {*adapters, *(client for host in fleet.hosts for client in host.clients)}
    unknown = [name for name in options.client if name not in known]
    if unknown:
        raise UsageError(
            f"no client is called {', '.join(unknown)}",
            f"the inventory has: {', '.join(sorted(known))}",
        )
    hosts = fleet.select(words)
    receipts = options.receipts or _beside(directory)
    return Selection(
        run=_run("", options),
        wishes=tuple((host, ()) for host in hosts),
        receipts=receipts,
        unsettled=unsettled(receipts, {host.name for host in hosts}),
        words=tuple(words),
        context=to_repeat(options),
    )


def _beside(directory: Path) -> Path:
    """Where receipts go: a `..` in the inventory's path has no parent by its spelling."""
    plain = directory.resolve() if ".." in directory.parts else directory.absolute()
    return plain.parent / BACKUPS


def _wishes(
    fleet: Inventory, words: Sequence[str], clients: Sequence[str]
) -> list[tuple[Host, tuple[Wish, ...]]]:
    unknown = [name for name in clients if name not in fleet.adapters]
    if unknown:
        raise UsageError(
            f"no adapter is called {', '.join(unknown)}",
            f"installed are: {', '.join(sorted(fleet.adapters))}",
        )
    wanted = frozenset(clients) or fleet.adapters
    chosen = [(host, _wishes_of(fleet, host, wanted)) for host in fleet.select(words)]
    found = [(host, wishes) for host, wishes in chosen if wishes]
    if not found:
        raise UsageError(
            "the selected hosts list no client that can be synced",
            "give another HOST or --client, or list `clients` in fleet.toml",
        )
    return found


def _wishes_of(fleet: Inventory, host: Host, wanted: Collection[str]) -> tuple[Wish, ...]:
    return tuple(
        inventory.wish(fleet, fleet.catalog, host, client)
        for client in fleet.clients_of(host)
        if client in wanted
    )


def _run(generation: str, options: Options) -> Run:
    machine = socket.gethostname()
    return Run(
        identity=receipt.new_run(),
        operator=f"{_user()}@{machine}",
        controller=machine,
        generation=generation,
        seconds=options.timeout,
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # an account without a name; KeyError before Python 3.13
        return f"uid{os.getuid()}"
