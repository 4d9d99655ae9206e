"""Installations are found where people have them, and told apart without running them."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from fleetsync.facts import Installation, Locate
from tests.unit.host_read import SHELLS, Host

PACKAGE = "@example/agent"
ASK = Locate(("agent",), (PACKAGE, "@older/agent", "agent-py"), ("dist/run.js", "dist/none.js"))
NODE = "#!/bin/sh\nexit 99\n"


@pytest.fixture(params=SHELLS)
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    return Host(tmp_path, request.param)


def install(
    host: Host,
    prefix: str = ".npm-global",
    name: str = PACKAGE,
    version: str = "1.6.0",
    shebang: str = "#!/usr/bin/env node",
) -> Path:
    """An npm package below `prefix`, and a linked launcher in its bin."""
    root = f"{prefix}/lib/node_modules/{name}"
    host.write(f"{root}/package.json", json.dumps({"version": version, "name": name}))
    host.write(f"{root}/dist/package.json", '{"type":"module"}')
    cli = host.write(f"{root}/dist/run.js", f"{shebang}\n// {version}\n", 0o755)
    launcher = host.home / prefix / "bin/agent"
    launcher.parent.mkdir(parents=True, exist_ok=True)
    launcher.symlink_to(cli)
    return cli


def node(host: Host, path: str) -> str:
    return str(host.write(path, NODE, 0o755))


def only(host: Host, question: Locate = ASK) -> Installation:
    (found,) = host.installations(question)
    return found


def test_a_host_without_the_client_has_no_installation(host: Host) -> None:
    assert host.installations(ASK) == ()


def test_a_package_is_told_by_name_version_and_root(host: Host) -> None:
    cli = install(host)
    found = only(host)
    assert (found.package, found.version, found.root, found.real, found.found) == (
        PACKAGE, "1.6.0", str(cli.parents[1]), str(cli), "known place",
    )


def test_each_runtime_file_that_exists_is_hashed(host: Host) -> None:
    cli = install(host)
    digest = hashlib.sha256(cli.read_bytes()).hexdigest()
    assert only(host).runtime == (("dist/run.js", digest),)


@pytest.mark.parametrize(
    "prefix",
    [
        ".local", ".bun", ".nvm/versions/node/v22.1.0", ".volta/tools/image/packages/agent",
        ".local/share/fnm/node-versions/v22.1.0/installation", ".asdf/installs/nodejs/22.1.0",
        ".local/share/mise/installs/node/22.1.0", "n",
    ],
)
def test_the_places_of_installers_are_known(tmp_path: Path, prefix: str) -> None:
    host = Host(tmp_path)
    install(host, prefix)
    assert only(host).found == "known place"


def test_the_path_of_the_session_comes_first(tmp_path: Path) -> None:
    host = Host(tmp_path)
    install(host)
    host.on_path(str(host.tools), f"{host.home}/.npm-global/bin")
    assert only(host).found == "PATH"


def test_the_path_of_the_login_shell_is_searched(host: Host) -> None:
    install(host, "tools of mine")
    host.write(".profile", 'PATH="$PATH:$HOME/tools of mine/bin"\n')
    assert only(host).found == "login PATH"


def test_two_launchers_of_one_installation_are_one(host: Host) -> None:
    cli = install(host)
    host.write(".local/bin/x")
    (host.home / ".local/bin/agent").symlink_to(cli)
    assert [one.path for one in host.installations(ASK)] == [f"{host.home}/.local/bin/agent"]


def test_two_installations_are_both_told(host: Host) -> None:
    install(host)
    install(host, ".local", "@older/agent", "0.73.1")
    assert [one.version for one in host.installations(ASK)] == ["0.73.1", "1.6.0"]


def test_a_package_of_another_name_is_told_without_a_package(host: Host) -> None:
    install(host, name="@other/agent")
    assert only(host).package == ""


def test_a_broken_package_json_gives_no_package(host: Host) -> None:
    cli = install(host)
    (cli.parents[1] / "package.json").write_text('{"name":"@example/agent",}')
    assert only(host).package == ""


def test_a_pipe_for_a_package_json_does_not_hang_the_reader(tmp_path: Path) -> None:
    host = Host(tmp_path)
    cli = install(host)
    (cli.parents[1] / "package.json").unlink()
    os.mkfifo(cli.parents[1] / "package.json")
    assert only(host).package == ""


def test_a_python_launcher_is_told_by_its_environment(host: Host) -> None:
    python = host.write("venv/bin/python3", NODE, 0o755)
    host.write("venv/lib/python3.11/site-packages/agent_py-0.19.0.dist-info/METADATA")
    host.write(".local/bin/agent", f"#!{python}\nimport agent\n", 0o755)
    found = only(host)
    assert (found.package, found.version, found.root, found.interpreter) == (
        "agent-py", "0.19.0", f"{host.home}/venv/lib/python3.11/site-packages", str(python),
    )


def test_a_package_json_beside_a_python_environment_tells_nothing(host: Host) -> None:
    host.write("agent/package.json", '{"name": "agent-py", "version": "1.0.0"}')
    python = host.write("agent/venv/bin/python3", NODE, 0o755)
    site = "agent/venv/lib/python3.11/site-packages"
    host.write(f"{site}/agent_py-0.19.0.dist-info/METADATA")
    launcher = host.write("agent/venv/bin/agent", f"#!{python}\nimport agent\n", 0o755)
    host.write(".local/bin/other")
    (host.home / ".local/bin/agent").symlink_to(launcher)
    assert (only(host).version, only(host).root) == ("0.19.0", f"{host.home}/{site}")


@pytest.mark.parametrize("quoted", ["'{}'", '"{}"'])
def test_a_long_python_path_is_found_behind_its_shell_line(host: Host, quoted: str) -> None:
    python = host.write("a b/venv/bin/python3", NODE, 0o755)
    host.write("a b/venv/lib/python3.11/site-packages/agent_py-0.19.0.dist-info/METADATA")
    text = "#!/bin/sh\n'''exec' " + quoted.format(python) + ' "$0" "$@"\n' + "' '''\n"
    host.write(".local/bin/agent", text, 0o755)
    found = only(host)
    assert (found.version, found.interpreter) == ("0.19.0", str(python))


def test_node_is_found_beside_the_launcher(host: Host) -> None:
    install(host, ".nvm/versions/node/v22.1.0")
    path = node(host, ".nvm/versions/node/v22.1.0/bin/node")
    host.on_path(str(host.tools))
    found = only(host)
    assert (found.interpreter, found.interpreter_version) == (path, "22.1.0")


def test_node_beside_the_launcher_comes_before_the_path_of_the_session(host: Host) -> None:
    install(host, ".nvm/versions/node/v22.1.0")
    path = node(host, ".nvm/versions/node/v22.1.0/bin/node")
    node(host, "first/node")
    host.on_path(f"{host.home}/first", str(host.tools))
    assert only(host).interpreter == path


def test_node_on_the_path_of_the_session_is_found(host: Host) -> None:
    install(host, shebang="#!/usr/bin/env agentnode")
    path = node(host, "first/agentnode")
    host.on_path(f"{host.home}/first", str(host.tools))
    assert only(host).interpreter == path


@pytest.mark.parametrize("root", ["node", "lib/python3.11/site-packages/node"])
def test_nodes_version_is_read_from_its_headers(host: Host, root: str) -> None:
    path = node(host, f"{root}/bin/node")
    header = "\n".join(
        f"#define NODE_{part}_VERSION {number}"
        for part, number in (("MAJOR", 24), ("MINOR", 19), ("PATCH", 0))
    )
    host.write(f"{root}/include/node/node_version.h", header)
    install(host, shebang=f"#!{path}")
    assert only(host).interpreter_version == "24.19.0"


def test_an_interpreter_that_is_missing_is_a_problem(host: Host) -> None:
    install(host, shebang="#!/gone/node")
    found = only(host)
    assert (found.interpreter, found.problem) == (
        "", "its interpreter /gone/node was not found",
    )


def test_a_shell_launcher_names_no_interpreter(host: Host) -> None:
    install(host, shebang="#!/bin/sh")
    found = only(host)
    assert (found.interpreter, found.problem) == ("", "")


def test_options_of_env_are_passed_over(host: Host) -> None:
    path = node(host, ".npm-global/bin/agentnode")
    install(host, shebang="#!/usr/bin/env -S agentnode --flag")
    assert only(host).interpreter == path


def test_nothing_that_is_found_is_run(host: Host) -> None:
    mark = host.home / "was run"
    cli = install(host, shebang="#!/bin/sh")
    cli.write_text(f"#!/bin/sh\n: >'{mark}'\n")
    only(host)
    assert not mark.exists()


def test_a_launcher_of_the_operator_is_taken_as_it_is(host: Host) -> None:
    cli, path = install(host, "x y"), node(host, "z/node")
    argv = ("~/z/node", "--flag", f"{host.home}/x y/bin/agent")
    found = only(host, Locate((), (PACKAGE,), (), (argv,)))
    assert (found.argv, found.real, found.version, found.interpreter, found.found) == (
        (path, *argv[1:]), str(cli), "1.6.0", path, "inventory",
    )


def test_a_launcher_without_an_interpreter_is_read_by_its_first_line(host: Host) -> None:
    path = node(host, "z/node")
    install(host, "x", shebang=f"#!{path}")
    found = only(host, Locate((), (PACKAGE,), (), (("~/x/bin/agent", "--flag"),)))
    assert (found.interpreter, found.problem) == (path, "")


def test_with_launchers_of_the_operator_nothing_else_is_searched(host: Host) -> None:
    install(host)
    install(host, "x", version="2.0.0")
    question = Locate(("agent",), (PACKAGE,), (), (("~/x/bin/agent",),))
    assert [one.version for one in host.installations(question)] == ["2.0.0"]


@pytest.mark.parametrize("argv", [("/gone/agent",), ("/gone/node", "~/.npm-global/bin/agent")])
def test_a_launcher_that_does_not_exist_is_a_problem(host: Host, argv: tuple[str, ...]) -> None:
    install(host)
    assert only(host, Locate((), (PACKAGE,), (), (argv,))).problem == f"{argv[0]} does not exist"


def test_a_launcher_with_a_line_end_is_a_problem_and_the_others_keep_theirs(host: Host) -> None:
    install(host)
    argvs = (("/a\nb",), ("~/.npm-global/bin/agent",))
    found = host.installations(Locate((), (PACKAGE,), (), argvs))
    assert [(bool(one.problem), one.version) for one in found] == [(True, ""), (False, "1.6.0")]


@pytest.mark.parametrize("name", ["a;b", "a b", "$(x)", ""])
def test_a_name_that_is_no_word_is_not_sent(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be looked for"):
        Host(tmp_path).installations(Locate((name,)))
