"""Situations of a host's credential: what fleetsync says, and what the real OpenClaw does.

A gateway costs 20 s of CPU to start and next to nothing for a turn, so one gateway serves
all situations that have one: each has a provider and a variable of its own.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fleetsync import check, prove
from fleetsync.adapter import Credential, Done, Seen, Target, Turn, Wish
from fleetsync.catalog import Alias, Policy
from fleetsync.facts import Facts
from fleetsync.probe import Salts, probe
from fleetsync.remote import Prover, Reader, Runner
from fleetsync.ssh import SshRemote
from fleetsync.testing.router import KeyVerdict, StandInRouter
from fleetsync_openclaw import adapter
from tests.clients import situations
from tests.clients.install import launcher, node
from tests.clients.situations import Keys, Observed, Situation, Watch
from tests.clients.test_openclaw import free_port
from tests.integration.sshd import RemoteHost, Sshd

VERSION, ALIAS = "2026.9.6", "llm.primary"
TOKEN = "a-gateway-token-of-the-host"
UNIT = ".config/systemd/user/openclaw-gateway.service"
FILES = {"dotenv": ".openclaw/.env", "gateway_env": ".config/openclaw/gateway.env",
         "unit_file": ".openclaw/gateway.systemd.env"}
GIVEN = ("unit", "unit_file", "running")
"""Places whose variables the gateway is started with."""


@dataclass(frozen=True)
class Case:
    """A situation under the names that it has on the host."""

    situation: Situation
    provider: str
    variable: str
    keys: Keys
    home: Path

    def fill(self, value: Any) -> Any:
        """A value of the table with names and keys in their places."""
        if isinstance(value, dict):
            return {key: self.fill(held) for key, held in value.items()}
        if not isinstance(value, str):
            return value
        named = value.replace("@NAME@", self.variable).replace("@PROVIDER@", self.provider)
        return self.keys.fill(named.replace("@HOME@", str(self.home)))

    def held(self, *places: str) -> Iterator[str]:
        """The values of its variable at these places."""
        found = self.situation.more.get("held", {})
        return (self.fill(found[place]) for place in places if place in found)

    @property
    def wish(self) -> Wish:
        alias = Alias(name=ALIAS, context_window=393216, max_output_tokens=4096)
        return Wish(
            "openclaw", self.provider, self.home.joinpath("url").read_text(), self.variable,
            (alias,), frozenset({ALIAS}), Policy(),
        )


def cases(host: RemoteHost, keys: Keys, *, alone: bool) -> list[Case]:
    chosen = (one for one in situations.table("openclaw").values()
              if bool(one.more.get("alone")) is alone)
    return [Case(one, f"router-{at}", f"ROUTER_KEY_{at}", keys, host.home)
            for at, one in enumerate(chosen)]


def config(every: Sequence[Case], url: str, port: int) -> dict[str, Any]:
    """An openclaw.json with a provider for each case."""
    row = {"id": ALIAS, "name": ALIAS, "contextWindow": 393216, "maxTokens": 4096}
    providers, secrets, profiles = {}, {}, {}
    given = {case.variable: value for case in every for value in case.held("config")}
    for case in every:
        more = case.situation.more
        provider = {"baseUrl": url, "api": "openai-completions", "models": [row]}
        if "api_key" in more:
            provider["apiKey"] = case.fill(more["api_key"])
        providers[case.provider] = provider
        if "secrets" in more:
            secrets[case.provider] = case.fill(more["secrets"])
        if more.get("stored") in ("profile", "nothing"):
            name = f"{case.provider}:manual"
            profiles[name] = {"provider": case.provider, "mode": "api_key"}
    http = {"endpoints": {"chatCompletions": {"enabled": True}}}
    return {
        "gateway": {"mode": "local", "port": port, "bind": "loopback", "http": http,
                    "auth": {"mode": "token", "token": TOKEN}},
        "models": {"providers": providers}, "secrets": {"providers": secrets},
        "auth": {"profiles": profiles}, "env": {"vars": given},
        "agents": {"defaults": {"model": {"primary": f"{every[0].provider}/{ALIAS}"}}},
    }


def furnish(host: RemoteHost, every: Sequence[Case], url: str, port: int) -> None:
    """The host's home as the situations say."""
    programs = host.home / ".local/bin"
    programs.mkdir(parents=True)
    (programs / "openclaw").symlink_to(launcher("openclaw", VERSION))
    (programs / "node").symlink_to(node())
    host.plant("url", url)
    store(host, every)
    text = json.dumps(config(every, url, port), indent=2)
    host.plant(".openclaw/openclaw.json", text, mode=0o600)
    login = assignments(every, "login", prefix="export ")
    host.plant(".profile", f'PATH="$HOME/.local/bin:$PATH"\n{login}')
    for place, path in FILES.items():
        host.plant(path, assignments(every, place), mode=0o600)
    for case in every:
        for path, text in case.situation.plant.items():
            host.plant(path, case.fill(text), mode=case.situation.more.get("mode", 0o600))


def assignments(every: Sequence[Case], *places: str, prefix: str = "") -> str:
    return "".join(
        f"{prefix}{case.variable}={value}\n" for case in every for value in case.held(*places)
    )


def store(host: RemoteHost, every: Sequence[Case]) -> None:
    """What lies in OpenClaw's own database, put there by OpenClaw."""
    words = {"store": "secrets store set {0.variable}",
             "profile": "models auth paste-api-key --provider {0.provider}"}
    for case in every:
        if command := words.get(case.situation.more.get("stored", "")):
            text = f"exec openclaw {command.format(case)}"
            done = subprocess.run(
                host.ssh(f'PATH="$HOME/.local/bin:$PATH" TMPDIR="$HOME"; {text}'),
                input=case.keys.right, capture_output=True, text=True, timeout=300, check=False,
            )
            assert done.returncode == 0, done.stderr


@contextmanager
def gateway(host: RemoteHost, every: Sequence[Case], port: int) -> Iterator[None]:
    """The host's gateway as its unit would start it; ready, and ended on leaving."""
    host.plant(UNIT, (
        f"[Service]\nExecStart={node()} openclaw.mjs gateway --port {port}\n"
        "EnvironmentFile=-%h/.openclaw/gateway.systemd.env\n"
        + assignments(every, "unit", prefix="Environment=")
    ), mode=0o600)
    given = "".join(
        f"export {case.variable}={shlex.quote(value)}\n"
        for case in every for value in case.held(*GIVEN)
    )
    host.plant("start", (
        f'{given}export TMPDIR="$HOME"\necho $$ >gateway.pid\n'
        f"exec {node()} {launcher('openclaw', VERSION)} gateway run >gateway.log 2>&1\n"
    ), mode=0o600)
    started = subprocess.Popen(
        host.ssh('cd "$HOME" && exec sh start'), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    log = host.home / "gateway.log"
    try:
        deadline = time.monotonic() + 300
        while not log.exists() or "[gateway] ready" not in log.read_text():
            assert started.poll() is None, log.read_text()[-2000:]
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        yield
    finally:
        if started.poll() is None:
            os.kill(int((host.home / "gateway.pid").read_text()), signal.SIGTERM)
        started.wait(120)


def ask_gateway(port: int, case: Case) -> str:
    """One turn of the gateway with the case's provider; what it answered."""
    body = {"model": "openclaw", "messages": [{"role": "user", "content": "Say ok."}]}
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/chat/completions", json.dumps(body).encode(),
        {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json",
         "x-openclaw-model": f"{case.provider}/{ALIAS}"},
    )
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return str(answer.read())
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read()!r}"


def start_alone(host: RemoteHost, case: Case) -> str:
    """One turn of an OpenClaw that a login shell starts; what it printed."""
    words = f"agent exec 'Say ok.' --model {case.provider}/{ALIAS} --timeout 60 --json"
    done = subprocess.run(
        host.ssh(f'TMPDIR="$HOME" exec "$SHELL" -lc "cd && exec openclaw {words}"'),
        capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL, check=False,
    )
    return done.stdout + done.stderr


class Sight:
    """What fleetsync makes of a host: read once, over one connection, for every case."""

    def __init__(self, remote: SshRemote, every: Sequence[Case]) -> None:
        self._remote, self._salts = remote, Salts.fresh()
        wishes = ((adapter, case.wish) for case in every)
        self._facts = probe(Reader(remote), tuple(wishes), self._salts)

    def target(self, case: Case, facts: Facts | None = None) -> Target:
        (found,) = adapter.targets(case.wish, facts or self._facts)
        return found

    def observe(self, case: Case, router: StandInRouter) -> Observed:
        """What is said of a case, beside what the router just saw of it."""
        seen = situations.observed(router)
        gate = self.target(case).credential
        resolved = self._decided(case, gate) if gate.pends else gate
        told = f"{gate!r} {resolved!r}"
        return Observed(_word(gate), _word(resolved), seen, self._proof(case, gate), told)

    def _decided(self, case: Case, gate: Credential) -> Credential:
        """The gate after OpenClaw was asked, as apply has it."""
        assert self._facts.host is not None
        answers = check.answer(Runner(self._remote), gate.asks, self._salts)
        known = self._facts.with_answers(self._facts.host, answers)
        return self.target(case, known).credential

    def _proof(self, case: Case, gate: Credential) -> str:
        if not gate.opens or gate.source is None:
            return "not checked"
        return prove.prove(
            Prover(self._remote), gate.source, case.wish.base_url, {ALIAS}, self._salts
        ).verdict.value

    def take_a_turn(self, case: Case) -> tuple[Turn, Seen, Done]:
        """One turn by the product's own command."""
        target = self.target(case)
        turn = Turn("f" * 32, case.wish.aliases[0], "nonce-0123456789abcdef", "fleetsync-1", 60)
        done = check.run(Runner(self._remote), adapter.turn(target, turn), {}, turn.identity)
        return turn, adapter.seen(target, turn, done), done


def _word(gate: Credential) -> str:
    return "indeterminate" if gate.pends else "open" if gate.opens else "closed"


Count = Callable[[bool, int], None]


def judge(
    sight: Sight, every: Sequence[Case], router: StandInRouter, take: Callable[[Case], str],
    count: Count,
) -> dict[str, list[str]]:
    """In what each case is not as the table says; only those that are not."""
    wrong: dict[str, list[str]] = {}
    for case in every:
        router.clear_log()
        said = take(case)
        with Watch(case.keys) as watch:
            seen = sight.observe(case, router)
        watch.look("what fleetsync tells of the credential", seen)
        differences = case.situation.differences(seen)
        count(not differences, len(watch.leaks))
        if differences or watch.leaks:
            wrong[case.situation.name] = [*differences, *watch.leaks, said[:400]]
    return wrong


@contextmanager
def furnished(sshd_host: Sshd, *, alone: bool) -> Iterator[
    tuple[RemoteHost, list[Case], StandInRouter, int]
]:
    """A host with its situations and a router that takes its right key."""
    keys, host, port = Keys(), sshd_host("node"), free_port()
    every = cases(host, keys, alone=alone)
    with StandInRouter({ALIAS: 393216}, {"node": keys.right}) as router:
        furnish(host, every, router.url, port)
        yield host, every, router, port


def test_the_gate_and_the_proof_say_what_the_real_gateway_then_does(
    sshd_host: Sshd, count_situation: Count
) -> None:
    with (
        furnished(sshd_host, alone=False) as (host, every, router, port),
        gateway(host, every, port),
        closing(host.remote()) as remote,
    ):
        sight = Sight(remote, every)
        wrong = judge(
            sight, every, router, lambda case: ask_gateway(port, case), count_situation
        )
        turn, seen, done = sight.take_a_turn(every[0])
    assert wrong == {}, json.dumps(wrong, indent=1)
    assert (seen.through, seen.provider, seen.fault) == ("gateway", every[0].provider, ""), done
    assert seen.text is not None
    assert seen.text.reveal().decode() == turn.nonce


def test_the_gate_and_the_proof_say_what_an_openclaw_without_a_gateway_then_does(
    sshd_host: Sshd, count_situation: Count
) -> None:
    with (
        furnished(sshd_host, alone=True) as (host, every, router, _),
        closing(host.remote()) as remote,
    ):
        sight = Sight(remote, every)
        wrong = judge(
            sight, every, router, lambda case: start_alone(host, case), count_situation
        )
        router.clear_log()
        _, seen, done = sight.take_a_turn(every[0])
        offered = {(one.key, one.tools) for one in router.turns()}
    assert wrong == {}, json.dumps(wrong, indent=1)
    assert (seen.through, seen.tools, seen.fault) == ("exec", ("read",), ""), done
    assert offered == {(KeyVerdict.RIGHT, ("read",))}
