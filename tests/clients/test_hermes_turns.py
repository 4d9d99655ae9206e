"""Real turns of Hermes' profiles: what they write stays in the scratch home."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable

import pytest

from fleetsync import check
from fleetsync.adapter import Seen, Target, Turn, Wish
from fleetsync.catalog import Alias, Policy
from fleetsync.facts import PlaceKind
from fleetsync.probe import Salts, probe
from fleetsync.remote import Reader, Runner
from fleetsync.testing.router import CHAT, Fault, KeyVerdict, StandInRouter
from fleetsync_hermes import adapter
from tests.clients.install import launcher
from tests.integration.sshd import RemoteHost, Sshd
from tests.listing import listing
from tests.matrix import FULL

VERSIONS = ("0.19.0", "0.18.2") if FULL else ("0.19.0",)
SECONDS = 90
NAME, KEY = "ROUTER_API_KEY", "canary-of-this-host-4c0ffee"
ALIAS = Alias(name="llm.primary", context_window=393216, max_output_tokens=4096)
Take = Callable[[str], Seen]


def config(url: str, entry: str, more: str = "") -> str:
    return (
        "model: {default: llm.primary, provider: 'custom:anvil'}\n"
        f"providers:\n  anvil:\n    base_url: {url}\n    {entry}\n"
        f"    models: {{llm.primary: {{context_length: 393216}}}}\n{more}"
    )


def pool(url: str) -> str:
    """An auth.json in which Hermes itself keeps the key, and the state of it."""
    entry = {"id": "1", "label": "a", "priority": 0, "auth_type": "api_key", "source": "manual",
             "base_url": url, "access_token": KEY}
    return json.dumps({"version": 1, "credential_pool": {"custom:anvil": [entry]}})


def take(host: RemoteHost, version: str, url: str, profile: str) -> tuple[Target, Take]:
    """The profile as fleetsync sees it, and what takes a turn of it and reads what came."""
    programs = host.home / ".local/bin"
    programs.mkdir(parents=True)
    (programs / "hermes").symlink_to(launcher("hermes", version))
    wish = Wish("hermes", "anvil", url, NAME, (ALIAS,), frozenset({ALIAS.name}), Policy())
    remote = host.remote()
    facts = probe(Reader(remote), ((adapter, wish),), Salts.fresh())
    (target,) = [one for one in adapter.targets(wish, facts) if one.name == profile]
    assert target.credential.opens, target.credential.cause

    def turn(nonce: str) -> Seen:
        one = Turn(secrets.token_hex(16), ALIAS, nonce, "fleetsync-1", SECONDS)
        done = check.run(Runner(remote), adapter.turn(target, one), {}, one.identity)
        assert done.started, done.problem
        assert KEY.encode() not in done.stdout.reveal() + done.stderr.reveal()
        return adapter.seen(target, one, done)

    return target, turn


@pytest.mark.parametrize("version", VERSIONS)
def test_a_refused_turn_of_an_inherited_pool_leaves_no_mark_on_it(
    version: str, sshd_host: Sshd
) -> None:
    host = sshd_host("node")
    with StandInRouter({ALIAS.name: 393216}, {"node": KEY}) as router:
        for home in (".hermes", ".hermes/profiles/work"):
            host.plant(f"{home}/config.yaml", config(router.url, "name: anvil"), mode=0o600)
        host.plant(".hermes/auth.json", pool(router.url), mode=0o600)
        target, turn = take(host, version, router.url, "work")
        before = listing(host.home)
        router.go_wrong(Fault.UNAUTHORIZED, path=CHAT, times=1)
        refused, answered = turn("nonce-1111"), turn("nonce-2222")
        keys = {one.key for one in router.turns()}
    assert refused.fault == "credential"
    assert (answered.fault, answered.tools, answered.provider) == ("", ("read_file",), "anvil")
    assert answered.text is not None and answered.text.reveal() == b"nonce-2222"
    assert keys == {KeyVerdict.RIGHT}
    assert listing(host.home) == before
    assert adapter.keep(target).place is None


def test_a_right_text_from_a_fallback_is_told_by_its_identity(sshd_host: Sshd) -> None:
    host = sshd_host("node")
    aliases = {ALIAS.name: 393216, "spare.model": 393216}
    with StandInRouter(aliases, {"node": KEY}) as router:
        spare = "{spare.model: {context_length: 393216}}"
        more = (
            f"  backup: {{base_url: '{router.url}/', key_env: {NAME}, models: {spare}}}\n"
            "fallback_providers: [{provider: 'custom:backup', model: spare.model}]\n"
        )
        text = config(router.url, f"key_env: {NAME}", more)
        host.plant(".hermes/config.yaml", text, mode=0o600)
        host.plant(".profile", f"export {NAME}={KEY}\n")
        target, turn = take(host, VERSIONS[0], router.url, "default")
        before = listing(host.home)
        router.go_wrong(Fault.UNAUTHORIZED, alias=ALIAS.name, path=CHAT)
        found = turn("nonce-3333")
    (_, place), = target.credential.variables
    assert place.kind is PlaceKind.LOGIN
    assert found.text is not None and found.text.reveal() == b"nonce-3333"
    assert (found.model, found.provider, found.fallback) == ("spare.model", "backup", True)
    assert listing(host.home) == before
