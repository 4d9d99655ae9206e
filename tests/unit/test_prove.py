"""The router is asked from the host with the host's own key, alike by every program."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fleetsync import prove
from fleetsync.facts import Place, PlaceKind, Resolve
from fleetsync.outcome import RouterRow, RouterVerdict
from fleetsync.remote import Prover, Runner
from tests.integration.faults.host import ShellRemote, namespace, shell
from tests.matrix import FULL
from tests.unit.host_read import SALTS, SHELLS
from tests.unit.test_host_read_places import CANARY, argvs

AUTH = Place(PlaceKind.JSON, "~/auth.json", "router\x1fkey")
KEY = f"{CANARY}-a\\b`c%s*?[x]~&;$|#\\\\"
MODELS = json.dumps({"data": [{"id": "llm.primary"}, {"id": "other"}]}).encode()
ASKERS = ("curl", "python3", "node")
ALIASES = ("llm.primary",)
_CURL = "fs_program=$(command -v curl)"
_ON_PATH, _ELSEWHERE = "for fs_engine in python3 node;", "for fs_engine in node python3;"


class _Router(BaseHTTPRequestHandler):
    """What it answers stands in the path: /CASE/models."""

    seen: list[tuple[str, str]] = []  # noqa: RUF012  # of one test's server at a time

    def do_GET(self) -> None:
        case = self.path.split("/")[1]
        self.seen.append((self.path, self.headers["Authorization"]))
        status, body, headers = 200, MODELS, {"Content-Type": "application/json"}
        if case.isdecimal():
            status = int(case)
            headers["Location"] = "/200/models"
        match case:
            case "html":
                body = b"<html>Log in</html>"
            case "other":
                body = b'{"models": ["llm.primary"]}'
            case "list":
                body = b'["llm.primary"]'
            case "echo":
                body = json.dumps({"data": [{"id": "llm.primary"}], "you": KEY}).encode()
                body = body.replace(b"\\\\", b"\\")
            case "large":
                body = b" " * (prove.CAP + 1) + MODELS
            case "endless":
                self._endless()
                return
            case "cut":
                headers["Content-Length"] = "9999"
            case "silent":
                time.sleep(4)
                return
        self._answer(status, body, headers)

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _endless(self) -> None:
        self.send_response(200)
        self.end_headers()
        try:
            while True:
                self.wfile.write(b" " * 65536)
        except OSError:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def router() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Router) as server:
        _Router.seen.clear()
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@contextmanager
def saying(data: bytes) -> Iterator[str]:
    """The host and port of a listener that says `data` to whoever connects, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with server.accept()[0] as link:
                link.settimeout(10)
                link.recv(1)
                link.sendall(data)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        thread.join()


class Host:
    """A host whose only program that can ask is `asker` ("" for all of them)."""

    def __init__(self, folder: Path, name: str = "dash", asker: str = "") -> None:
        sh, path = shell(name, folder / "tools")
        self.home = folder / "home"
        self.home.mkdir()
        self.remote = ShellRemote(sh, path, self.home, environment={"SHELL": "/bin/sh"})
        if asker:
            self.remote.replaced = (
                (_CURL, _CURL if asker == "curl" else "false"),
                (_ON_PATH, f"for fs_engine in {asker};"),
                (_ELSEWHERE, "for fs_engine in;"),
            )
        self.plant(KEY)

    def plant(self, key: str) -> None:
        (self.home / "auth.json").write_text(json.dumps({"router": {"key": key}}))

    def prove(
        self, url: str, aliases: tuple[str, ...] = ALIASES, interpreters: tuple[str, ...] = ()
    ) -> RouterRow:
        row = prove.prove(Prover(self.remote), AUTH, url, aliases, SALTS, interpreters)
        assert row.url == url
        return row

    def verdict(self, url: str) -> tuple[RouterVerdict, str]:
        row = self.prove(url)
        return row.verdict, row.detail


@pytest.fixture(params=ASKERS)
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    return Host(tmp_path, asker=request.param)


ANSWERS = (
    ("200", RouterVerdict.ACCEPTED, ""),
    ("401", RouterVerdict.REJECTED, "401"),
    ("403", RouterVerdict.REJECTED, "403"),
    ("404", RouterVerdict.NOT_A_ROUTER, "it answers 404"),
    ("302", RouterVerdict.NOT_A_ROUTER, "redirects (302)"),
    ("308", RouterVerdict.NOT_A_ROUTER, "redirects (308)"),
    ("429", RouterVerdict.UNREACHABLE, "router error 429"),
    ("503", RouterVerdict.UNREACHABLE, "router error 503"),
    ("html", RouterVerdict.NOT_A_ROUTER, "a web page"),
    ("other", RouterVerdict.NOT_A_ROUTER, "an answer that is no list of models"),
    ("list", RouterVerdict.NOT_A_ROUTER, "an answer that is no list of models"),
    ("echo", RouterVerdict.NOT_A_ROUTER, "its answer holds the key"),
    ("large", RouterVerdict.NOT_A_ROUTER, "an answer larger than 1024 KiB"),
    ("endless", RouterVerdict.NOT_A_ROUTER, "an answer larger than 1024 KiB"),
    ("cut", RouterVerdict.UNREACHABLE, "the connection broke off"),
    ("silent", RouterVerdict.UNREACHABLE, "no answer in 1 s"),
)


@pytest.mark.parametrize(("case", "verdict", "detail"), ANSWERS)
def test_every_program_gives_an_answer_the_same_class(
    host: Host, router: str, monkeypatch: pytest.MonkeyPatch,
    case: str, verdict: RouterVerdict, detail: str,
) -> None:
    monkeypatch.setattr(prove, "SECONDS", 1 if case == "silent" else 10)
    assert host.verdict(f"{router}/{case}") == (verdict, detail)
    assert [path for path, _ in _Router.seen] == [f"/{case}/models"]


def test_the_key_arrives_as_it_is(host: Host, router: str) -> None:
    host.prove(f"{router}/200/")
    assert _Router.seen == [("/200/models", f"Bearer {KEY}")]


def test_a_port_where_nobody_listens_is_refused(host: Host) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert host.verdict(f"http://127.0.0.1:{port}/v1") == (
        RouterVerdict.UNREACHABLE, "connection refused, or no way there"
    )


def test_a_name_that_does_not_resolve_is_told(host: Host) -> None:
    host.remote.within = namespace("--net")
    assert host.verdict("http://router.invalid/v1") == (
        RouterVerdict.UNREACHABLE, "its name does not resolve"
    )


def test_a_port_that_speaks_no_tls_is_told(host: Host) -> None:
    with saying(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n") as where:
        verdict, detail = host.verdict(f"https://{where}/v1")
    assert (verdict, detail[:10]) == (RouterVerdict.UNREACHABLE, "TLS failed")


def test_a_port_that_speaks_no_http_is_told(host: Host) -> None:
    with saying(b"220 mail.example.net ESMTP\r\n") as where:
        assert host.verdict(f"http://{where}/v1") == (
            RouterVerdict.NOT_A_ROUTER, "it does not speak HTTP"
        )


def test_an_alias_that_the_router_does_not_list_is_named(host: Host, router: str) -> None:
    row = host.prove(f"{router}/200", ("llm.primary", "llm.z", "llm.a"))
    assert (row.verdict, row.missing) == (RouterVerdict.ALIAS_MISSING, ("llm.a", "llm.z"))


def test_proxies_get_no_key_and_are_named(host: Host, router: str) -> None:
    with saying(b"HTTP/1.1 401 No\r\n\r\n") as proxy:
        host.remote.environment |= {
            "http_proxy": f"http://{proxy}", "HTTPS_PROXY": f"http://{proxy}",
            "ALL_PROXY": f"http://{proxy}", "NODE_USE_ENV_PROXY": "1",
        }
        row = host.prove(f"{router}/200")
        socket.create_connection(tuple(proxy.split(":"))).close()  # type: ignore[arg-type]
    assert (row.verdict, row.proxies) == (RouterVerdict.ACCEPTED, ("http_proxy", "ALL_PROXY"))


@pytest.mark.parametrize(("asker", "name"), [
    (asker, name) for asker in ASKERS for name in SHELLS
    if FULL or name == "dash" or asker == "curl"
])
def test_no_key_shows_in_the_process_list(
    tmp_path: Path, router: str, monkeypatch: pytest.MonkeyPatch, name: str, asker: str
) -> None:
    monkeypatch.setattr(prove, "SECONDS", 1)
    host = Host(tmp_path, name, asker)
    with argvs() as seen:
        silent, good = host.verdict(f"{router}/silent"), host.verdict(f"{router}/200")
    assert (silent[0], good[0]) == (RouterVerdict.UNREACHABLE, RouterVerdict.ACCEPTED)
    assert CANARY.encode() not in seen


def test_the_host_keeps_no_file_of_it(host: Host, router: str) -> None:
    before = sorted(host.home.rglob("*"))
    host.prove(f"{router}/200")
    assert sorted(host.home.rglob("*")) == before


def test_no_asker_makes_a_file_that_the_accounts_environment_wants(
    host: Host, router: str, tmp_path: Path
) -> None:
    wanted = tmp_path / "wanted"
    host.remote.environment |= {
        "NODE_V8_COVERAGE": str(wanted), "NODE_COMPILE_CACHE": str(wanted),
        "SSLKEYLOGFILE": str(wanted / "keys"), "NODE_OPTIONS": "--cpu-prof",
    }
    assert host.verdict(f"{router}/200")[0] is RouterVerdict.ACCEPTED
    assert not wanted.exists()


@pytest.mark.parametrize("end", ["", "; kill -s KILL $$"])
def test_what_poses_as_curl_tells_nothing_of_the_key(tmp_path: Path, router: str, end: str) -> None:
    host = Host(tmp_path, asker="curl")
    host.plant("hunter2")
    curl = tmp_path / "tools/curl"
    curl.write_text(
        '#!/bin/sh\n[ "$2" = -V ] && exit\nprintf "x\\n%s" '
        f"\"$(sed -n 's/.*Bearer \\(.*\\)\"/\\1/p')\"{end}\n"
    )
    curl.chmod(0o755)
    row = host.prove(f"{router}/200")
    assert row.verdict is not RouterVerdict.NOT_CHECKED
    assert "hunter2" not in repr(row)


def test_a_quote_and_a_backslash_are_escaped_for_curl(tmp_path: Path, router: str) -> None:
    host = Host(tmp_path, asker="curl")
    host.remote.prelude = "fs_judge_place() { fs_judged='a\"b\\c$d'; fs_verdict=resolves; }"
    host.prove(f"{router}/200")
    assert _Router.seen == [("/200/models", 'Bearer a"b\\c$d')]


def test_without_a_program_that_can_ask_it_is_not_checked(tmp_path: Path, router: str) -> None:
    host = Host(tmp_path, asker="none")
    assert host.verdict(f"{router}/200") == (
        RouterVerdict.NOT_CHECKED, "no curl, python3 or node on this host"
    )


def test_the_interpreter_of_a_client_can_ask(tmp_path: Path, router: str) -> None:
    host = Host(tmp_path, asker="none")
    row = host.prove(f"{router}/200", interpreters=("/nowhere/node", "/usr/bin/python3"))
    assert row.verdict is RouterVerdict.ACCEPTED


def test_without_a_key_nobody_is_asked(tmp_path: Path, router: str) -> None:
    host = Host(tmp_path)
    host.plant("changeme")
    assert host.verdict(f"{router}/200") == (
        RouterVerdict.NOT_CHECKED, "~/auth.json router.key: placeholder"
    )
    assert _Router.seen == []


def test_a_key_that_a_command_prints_is_proved_by_a_runner_alone(
    tmp_path: Path, router: str
) -> None:
    host, source = Host(tmp_path), Resolve(AUTH)
    host.plant("!echo from-a-command")
    prover, runner = (
        prove.prove(kind(host.remote), source, f"{router}/200", ALIASES, SALTS)
        for kind in (Prover, Runner)
    )
    assert (prover.verdict, prover.detail) == (
        RouterVerdict.NOT_CHECKED, "the command that gives this key is run at apply"
    )
    assert runner.verdict is RouterVerdict.ACCEPTED
    assert _Router.seen == [("/200/models", "Bearer from-a-command")]
