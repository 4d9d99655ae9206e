"""fleet.toml: what it accepts, how each fault is told, and what follows from it."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path

import pytest
import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetsync import fleetfile, schemas
from fleetsync.catalog import AliasTable, CatalogTable, Policy
from fleetsync.errors import ConfigError, UsageError
from fleetsync.inventory import Host, Inventory, Router, find, load, load_hosts, wish

ROUTER = """\
[router]
provider   = "anvil"
base_url   = "https://router.example.net/v1"
credential = "ROUTER_API_KEY"
"""
HOST = """\
[hosts.one]
clients = ["pi"]
"""
CATALOG = "".join(
    f'[aliases."{name}"]\ncontext_window = 393216\nmax_output_tokens = 4096\n'
    for name in ("llm.primary", "llm.secondary", "vision.ocr")
)


def fleet(directory: Path, text: str, catalog: str = CATALOG) -> Inventory:
    (directory / "fleet.toml").write_text(text, encoding="utf-8")
    (directory / "catalog.toml").write_text(catalog, encoding="utf-8")
    return load(directory, ["pi"])


def problems(directory: Path, text: str, catalog: str = CATALOG) -> list[str]:
    with pytest.raises(ConfigError) as error:
        fleet(directory, text, catalog)
    return [line.removeprefix(f"{directory}/") for line in error.value.problems]


def aliases(found: Inventory, client: str = "pi") -> tuple[str, ...]:
    wished = wish(found, found.catalog, found.hosts[0], client)
    return tuple(alias.name for alias in wished.aliases)


# --- what is accepted --------------------------------------------------------------


def test_the_smallest_fleet_is_a_router_and_one_host(tmp_path: Path) -> None:
    found = fleet(tmp_path, ROUTER + HOST)
    assert (found.router, found.hosts, found.notices) == (
        Router("anvil", "https://router.example.net/v1", "ROUTER_API_KEY"),
        (Host("one", clients=("pi",)),),
        (),
    )


def test_every_key_of_a_host_is_read(tmp_path: Path) -> None:
    text = ROUTER + (
        '[hosts.one]\naddress = "fe80::1%eth0"\nuser = "ops"\nport = 2222\n'
        'identity = "~/.ssh/fleet"\nknown_hosts = "~/.ssh/fleet_hosts"\n'
        'groups = ["canary", "mac"]\nclients = ["pi"]\nhold = "switched off on purpose"\n'
    )
    assert fleet(tmp_path, text).hosts == (
        Host(
            name="one",
            address="fe80::1%eth0",
            user="ops",
            port=2222,
            identity="~/.ssh/fleet",
            known_hosts="~/.ssh/fleet_hosts",
            groups=("canary", "mac"),
            clients=("pi",),
            hold="switched off on purpose",
        ),
    )


def test_a_host_without_address_is_reached_by_its_name() -> None:
    assert Host("one").address == "one"


def test_the_design_s_whole_example_loads(tmp_path: Path) -> None:
    text = ROUTER + (
        '[policy]\nprune = false\ndangling = "refuse"\nmanage_max_output = false\n'
        'manage_reasoning = false\ncredential_scope = "persistent"\npreset = ""\n'
        '[smoke]\naliases = []\n[catalog_source]\nkind = "anvil"\n'
        'url = "https://router.example.net"\ncredential = "ROUTER_OPERATOR_KEY"\n'
        '[clients.openclaw]\nexclude = ["vision.ocr"]\n[clients.pi]\ninclude = ["llm.primary"]\n'
        "[clients.hermes.policy]\nprune = true\n"
        '[hosts.primary-node]\nclients = ["pi", "openclaw", "hermes"]\n'
        '[hosts.primary-node.hermes]\nprofiles = ["default", "work"]\n'
        '[hosts.mac]\nclients = ["pi"]\n[hosts.mac.router]\nbase_url = "http://10.0.0.1:8000/v1"\n'
        '[hosts.mac.pi]\ncommands = [["/opt/bin/node", "/opt/bin/pi"]]\n'
        "[hosts.mac.policy]\nprune = true\n[hosts.mac.pi.policy]\nprune = false\n"
    )
    assert [host.name for host in fleet(tmp_path, text).hosts] == ["primary-node", "mac"]


def test_a_client_with_an_adapter_of_a_third_party_is_accepted(tmp_path: Path) -> None:
    fleet(tmp_path, ROUTER + HOST)
    text = '[hosts.one]\nclients = ["zed-x"]\n[hosts.one.zed-x]\nprofiles = ["work"]\n'
    (tmp_path / "fleet.toml").write_text(ROUTER + text)
    found = load(tmp_path, ["pi", "zed-x"])
    assert wish(found, found.catalog, found.hosts[0], "zed-x").options == {"profiles": ("work",)}


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:8080/v1", "https://[::1]:8080/v1", "HTTPS://r.example/v1/"]
)
def test_a_router_address_is_kept_as_it_is_spelled(tmp_path: Path, address: str) -> None:
    text = ROUTER.replace("https://router.example.net/v1", address)
    assert fleet(tmp_path, text + HOST).router.base_url == address


def test_only_the_listed_clients_that_have_an_adapter_are_synced(tmp_path: Path) -> None:
    found = fleet(tmp_path, ROUTER + '[hosts.one]\nclients = ["hermes", "pi"]\n')
    assert found.clients_of(found.hosts[0]) == ("pi",)


# --- what is refused ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[hosts]\nx = 1\n[hosts.one.x]\nx = {}\n[hosts.one.x]", "found [hosts.one.x] a second"),
        ('clients = ["pi"]\n', "found a key a second time, expected each key once"),
        ("[hosts.two\n", "not TOML: expected ']' at the end of a table declaration"),
        ('hold = "a\n', "not TOML: illegal character '\\n'"),
        ("port = \n", "not TOML: invalid value"),
        ("x = [1,\n", "not TOML: invalid value"),
        ("x = " + "[" * 9999, "lists or tables are nested too deeply"),
        ("x = " + "1" * 9999, "not TOML: a number has too many digits"),
    ],
)
def test_what_is_not_toml_is_told_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    [problem] = problems(tmp_path, ROUTER + HOST + text)
    assert problem.startswith("fleet.toml") and words in problem


def test_a_host_that_stands_twice_is_refused_with_its_line(tmp_path: Path) -> None:
    assert problems(tmp_path, ROUTER + HOST + HOST) == [
        "fleet.toml:7:11: found [hosts.one] a second time, expected one table for each name"
    ]


def test_a_file_that_is_not_utf_8_is_refused_with_its_line(tmp_path: Path) -> None:
    fleet(tmp_path, ROUTER + HOST)
    (tmp_path / "fleet.toml").write_bytes((ROUTER + HOST).encode() + b"# \xff\n")
    with pytest.raises(ConfigError) as error:
        load(tmp_path, ["pi"])
    assert error.value.problems[0].endswith("fleet.toml:7: found a byte that is not UTF-8")


@pytest.mark.parametrize("missing", ["fleet.toml", "catalog.toml"])
def test_a_missing_file_is_told(tmp_path: Path, missing: str) -> None:
    fleet(tmp_path, ROUTER + HOST)
    (tmp_path / missing).unlink()
    with pytest.raises(ConfigError, match=f"{missing}: cannot be read: No such file"):
        load(tmp_path, ["pi"])


NAME = "expected a name of letters, digits, '_', '.' and '-' that begins with no '.' or '-'"


@pytest.mark.parametrize("name", ["-x", "", "a b", "a/b", "a\\nb", "a\\u0007b", ".", "..", "a*"])
def test_a_host_name_that_could_mislead_is_refused(tmp_path: Path, name: str) -> None:
    [problem] = problems(tmp_path, ROUTER + f'[hosts."{name}"]\nclients = ["pi"]\n')
    assert problem.endswith(f"found this name, {NAME}") and problem.isprintable()


@pytest.mark.parametrize(
    ("line", "key", "words"),
    [
        ('address = "-oProxyCommand=x"', "address", 'found "-oProxyCommand=x", expected a name or'),
        ('address = ""', "address", 'found "", expected a name or address'),
        ('address = "a b"', "address", 'found "a b", expected a name or address'),
        ('address = "ops@a"', "address", 'found "ops@a", expected a name or address'),
        ('address = "a/b"', "address", 'found "a/b", expected a name or address'),
        ('address = "a\\nb"', "address", 'found "a\\nb", expected a name or address'),
        ("address = 7", "address", "found 7, expected a name or address"),
        ('user = "-x"', "user", 'found "-x", expected a user name'),
        ('user = "a b"', "user", 'found "a b", expected a user name'),
        ('user = ""', "user", 'found "", expected a user name'),
        ('user = "a;b"', "user", 'found "a;b", expected a user name'),
        ("port = 0", "port", "found 0, expected a whole number from 1 to 65535"),
        ("port = 65536", "port", "found 65536, expected a whole number from 1 to 65535"),
        ("port = true", "port", "found true, expected a whole number from 1 to 65535"),
        ('port = "22"', "port", 'found "22", expected a whole number from 1 to 65535'),
        ("port = 22.0", "port", "found 22.0, expected a whole number from 1 to 65535"),
        ('identity = "-x"', "identity", 'found "-x", expected a path on this machine'),
        ('identity = ""', "identity", 'found "", expected a path on this machine'),
        ('known_hosts = "-x"', "known_hosts", 'found "-x", expected a path on this machine'),
        ('known_hosts = "a\\nb"', "known_hosts", 'found "a\\nb", expected a path'),
        ('groups = ["-x"]', "groups[0]", f'found "-x", {NAME}'),
        ('groups = [""]', "groups[0]", f'found "", {NAME}'),
        ('groups = ["a", "a b"]', "groups[1]", f'found "a b", {NAME}'),
        ('groups = ["a", "a"]', "groups", "found a list of 2, expected each name once"),
        ('groups = "a"', "groups", 'found "a", expected a list of group names'),
        ('hold = ""', "hold", 'found "", expected why no command contacts this host'),
        ("hold = true", "hold", "found true, expected why no command contacts this host"),
        ('adress = "x"', "adress", 'found an unknown key, expected a known one; did you mean "a'),
        ("pie = {}", "pie", 'found an unknown key, expected a known one; did you mean "pi"?'),
        ("router = 1", "router", "found 1, expected a table"),
        ('router = {provider = "-x"}', "router.provider", f'found "-x", {NAME}'),
        ("pi = 1", "pi", "found 1, expected a table"),
        ("pi = {include = []}", "pi.include", "found a list of 0, expected a list of at least one"),
        ("pi = {commands = []}", "pi.commands", "found a list of 0, expected a list of launchers"),
        ("pi = {commands = [[]]}", "pi.commands[0]", "found a list of 0, expected a list of abso"),
        ('pi = {commands = ["/b"]}', "pi.commands[0]", 'found "/b", expected a list of absolute'),
        (
            'pi = {commands = [["pi"]]}',
            "pi.commands[0][0]",
            'found "pi", expected an absolute path',
        ),
        ('pi = {commands = [["/a\\n"]]}', "pi.commands[0][0]", 'found "/a\\n", expected an absol'),
        ("pi = {profiles = []}", "pi.profiles", "found a list of 0, expected a list of at least"),
        ('pi = {profiles = ["-x"]}', "pi.profiles[0]", f'found "-x", {NAME}'),
        ("pi = {profile = 1}", "pi.profile", "found an unknown key, expected a known one; did you"),
        ("policy = {prune = 1}", "policy.prune", "found 1, expected true or false"),
        ("policy = {prunes = 1}", "policy.prunes", "found an unknown key"),
    ],
)
def test_a_wrong_value_of_a_host_is_told_with_place_found_and_expected(
    tmp_path: Path, line: str, key: str, words: str
) -> None:
    [problem] = problems(tmp_path, f"{ROUTER}{HOST}{line}\n")
    assert problem.startswith(f"fleet.toml:7: hosts.one.{key}: {words}")


@pytest.mark.parametrize(
    ("line", "key", "words"),
    [
        ('policy.dangling = "drop"', "policy.dangling", 'found "drop", expected "refuse" or "repo'),
        ('policy.preset = "x"', "policy.preset", 'found "x", expected "" or "anvil"'),
        ('policy.credential_scope = "x"', "policy.credential_scope", 'found "x", expected "persis'),
        ('policy.manage_reasoning = "x"', "policy.manage_reasoning", 'found "x", expected true or'),
        ("policy = true", "policy", "found true, expected a table"),
        ("smoke.aliases = true", "smoke.aliases", "found true, expected a list of aliases"),
        ('smoke.aliases = ["llm.x"]', "smoke.aliases[0]", 'found "llm.x", expected an alias of'),
        (
            'clients.pie.include = ["x"]',
            "clients.pie",
            "found this name, expected a client; did yo",
        ),
        ("clients.pi = 1", "clients.pi", "found 1, expected a table"),
        ("clients.pi.commands = []", "clients.pi.commands", "found an unknown key, expected a kno"),
        ('clients.pi.exclude = ["x"]', "clients.pi.exclude[0]", 'found "x", expected an alias of'),
        ("hosts.two = 3", "hosts.two", "found 3, expected a table"),
        ("hosts.two = {}", "hosts.two.clients", "found nothing, expected a list of at least one"),
        ("polcy = {}", "polcy", 'found an unknown key, expected a known one; did you mean "policy'),
    ],
)
def test_a_wrong_value_of_the_fleet_is_told_with_place_found_and_expected(
    tmp_path: Path, line: str, key: str, words: str
) -> None:
    host = 'hosts.one.clients = ["pi"]\n'
    [problem] = [
        line for line in problems(tmp_path, f"{line}\n{host}{ROUTER}") if f": {key}: " in line
    ]
    assert problem.startswith(f"fleet.toml:1: {key}: {words}")


@pytest.mark.parametrize(
    ("clients", "words"),
    [
        ('["pi", "claude"]', 'clients[1]: found "claude", expected a client; known: "hermes", "o'),
        (
            '["openclav"]',
            'clients[0]: found "openclav", expected a client; did you mean "openclaw"',
        ),
        ('["pi", "pi"]', "clients: found a list of 2, expected each name once"),
        ("[]", "clients: found a list of 0, expected a list of at least one client"),
        ('"pi"', 'clients: found "pi", expected a list of at least one client'),
    ],
)
def test_clients_must_be_known(tmp_path: Path, clients: str, words: str) -> None:
    [problem] = problems(tmp_path, f"{ROUTER}[hosts.one]\nclients = {clients}\n")
    assert problem.startswith(f"fleet.toml:6: hosts.one.{words}")


@pytest.mark.parametrize("table", ["router", "hosts"])
def test_a_fleet_needs_a_router_and_a_host(tmp_path: Path, table: str) -> None:
    [problem] = problems(tmp_path, HOST if table == "router" else ROUTER)
    assert problem.startswith(f"fleet.toml:1: {table}: found nothing, expected")


@pytest.mark.parametrize("key", ["provider", "base_url", "credential"])
def test_every_key_of_the_router_is_needed(tmp_path: Path, key: str) -> None:
    text = "".join(line for line in ROUTER.splitlines(keepends=True) if not line.startswith(key))
    [problem] = problems(tmp_path, text + HOST)
    assert problem.startswith(f"fleet.toml:1: router.{key}: found nothing, expected")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("router.example.net/v1", "expected an address that starts with http:// or https://"),
        ("ftp://router.example.net", "expected an address that starts with http:// or https://"),
        ("https://a b/v1", "expected an address that starts with http:// or https://"),
        ("https://a/v1\\n", "expected an address that starts with http:// or https://"),
        ("", "expected an address that starts with http:// or https://"),
        ("https:///v1", "expected an address with a host name"),
        ("https://:80/v1", "expected an address with a host name"),
        ("https://[::1/v1", "expected an address with a host name"),
        ("https://a:99999/v1", "expected an address with a host name, and a port from 1 to 65535"),
        ("https://a:0/v1", "expected an address with a host name, and a port from 1 to 65535"),
        ("https://a:x/v1", "expected an address with a host name, and a port from 1 to 65535"),
        ("https://u@a/v1", "expected an address without user and password"),
        ("https://u:pw@a/v1", "expected an address without user and password"),
        ("https://a/v1?x=1", "expected an address without query and fragment"),
        ("https://a/v1?", "expected an address without query and fragment"),
        ("https://a/v1#x", "expected an address without query and fragment"),
    ],
)
def test_a_router_address_that_is_none_is_refused(tmp_path: Path, address: str, words: str) -> None:
    text = ROUTER.replace("https://router.example.net/v1", address)
    [problem] = problems(tmp_path, text + HOST)
    assert problem.startswith("fleet.toml:3: router.base_url: found") and words in problem


@pytest.mark.parametrize(
    "address",
    [
        "https://user:hunter2@a/v1",
        "https://user:p/hunter2@a/v1",
        "https://user:p?hunter2@a/v1",
        "https://user:p#hunter2@a:x/v1",
        "https://hunter2@a/v1",
        "https://a/v1?key=hunter2",
        "https://a/v1#hunter2",
        "ftp://u:hunter2@a",
    ],
)
def test_a_secret_in_a_router_address_is_never_shown(tmp_path: Path, address: str) -> None:
    [problem] = problems(tmp_path, ROUTER.replace("https://router.example.net/v1", address) + HOST)
    assert "hunter2" not in problem


@pytest.mark.parametrize("key", ["sk-hunter2", "hunter 2", "", "1HUNTER", "HUNTER-2"])
def test_a_credential_must_be_the_name_of_a_variable_and_is_never_shown(
    tmp_path: Path, key: str
) -> None:
    [problem] = problems(tmp_path, ROUTER.replace("ROUTER_API_KEY", key) + HOST)
    assert problem == (
        "fleet.toml:4: router.credential: found a text that is not shown, in case it is a key, "
        "expected the name of an environment variable: letters, digits and '_'"
    )


def test_a_token_in_a_wrong_place_is_never_shown(tmp_path: Path) -> None:
    token = "sk-" + "h4ter" * 6
    text = (
        ROUTER + HOST + f'user = "a {token}"\napi_key = "{token}"\n[policy]\npreset = "{token}"\n'
    )
    assert not [problem for problem in problems(tmp_path, text) if "h4ter" in problem]


def test_an_alias_that_the_catalog_lacks_is_refused_with_the_nearest(tmp_path: Path) -> None:
    text = f'{ROUTER}{HOST}[hosts.one.pi]\ninclude = ["llm.primary", "llm.primry"]\n'
    assert problems(tmp_path, text) == [
        'fleet.toml:8: hosts.one.pi.include[1]: found "llm.primry", '
        'expected an alias of the catalog; did you mean "llm.primary"?'
    ]


def test_a_long_alias_name_is_shown_in_full(tmp_path: Path) -> None:
    name = "qwen3-coder-480b-a35b-instruct-fp8"
    [problem] = problems(tmp_path, f'{ROUTER}{HOST}[clients.pi]\ninclude = ["{name}"]\n')
    assert f'found "{name}"' in problem


def test_an_alias_with_wrong_limits_can_still_be_included(tmp_path: Path) -> None:
    text = f'{ROUTER}{HOST}[clients.pi]\ninclude = ["llm.primary"]\n'
    [problem] = problems(tmp_path, text, CATALOG.replace("393216", "0", 1))
    assert problem.startswith('catalog.toml:2: aliases."llm.primary".context_window: found 0')


@pytest.mark.parametrize(
    "text",
    [
        '[clients.pi]\nexclude = ["llm.primary", "llm.secondary", "vision.ocr"]\n',
        '[clients.pi]\ninclude = ["llm.primary"]\n[hosts.one.pi]\nexclude = ["llm.primary"]\n',
    ],
)
def test_a_selection_that_leaves_no_alias_is_refused(tmp_path: Path, text: str) -> None:
    [problem] = problems(tmp_path, ROUTER + HOST + text)
    assert "hosts.one.pi: found include and exclude that leave no alias, expected" in problem


def test_all_problems_of_both_files_come_at_once(tmp_path: Path) -> None:
    text = ROUTER.replace("anvil", "-x") + HOST + 'port = 0\n[clients.pi]\ninclude = ["x"]\n'
    found = problems(tmp_path, text, CATALOG.replace("4096", "0", 1))
    assert [problem.rsplit(": found")[0] for problem in found] == [
        "fleet.toml:2: router.provider",
        "fleet.toml:7: hosts.one.port",
        "fleet.toml:9: clients.pi.include[0]",
        'catalog.toml:3: aliases."llm.primary".max_output_tokens',
    ]


# --- what the operator is told -----------------------------------------------------

NOT_YET = "is accepted, its feature is not in this version"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (
            '[catalog_source]\nkind = "anvil"\nurl = "http://r"\ncredential = "K"\n',
            "catalog_source",
        ),
    ],
)
def test_a_key_whose_feature_comes_later_says_so_when_used(
    tmp_path: Path, text: str, key: str
) -> None:
    assert fleet(tmp_path, ROUTER + HOST + text).notices == (f"{key} {NOT_YET}",)


def test_a_client_without_adapter_says_so_once_with_its_hosts(tmp_path: Path) -> None:
    text = '[hosts.one]\nclients = ["pi", "hermes"]\n[hosts.two]\nclients = ["hermes"]\n'
    assert fleet(tmp_path, ROUTER + text).notices == (f'"hermes" in clients (one, two) {NOT_YET}',)


def test_a_policy_gives_no_notice(tmp_path: Path) -> None:
    text = '[policy]\ndangling = "report"\npreset = "anvil"\nmanage_reasoning = true\n'
    assert fleet(tmp_path, ROUTER + HOST + text).notices == ()


def test_a_table_of_a_client_that_is_not_listed_gives_a_notice(tmp_path: Path) -> None:
    assert fleet(tmp_path, ROUTER + HOST + '[hosts.one.hermes]\nprofiles = ["x"]\n').notices == (
        "hosts.one.hermes has no effect: the host's clients do not list hermes",
    )


@pytest.mark.parametrize("line", ["", "port = 22"])
def test_two_hosts_that_are_one_account_give_a_notice(tmp_path: Path, line: str) -> None:
    text = f'[hosts.two]\naddress = "ONE"\nclients = ["pi"]\n{line}\n'
    assert fleet(tmp_path, ROUTER + HOST + text).notices == (
        "hosts one, two are the same account: one address, user and port; list its clients "
        "below one name, else one command meets itself there",
    )


@pytest.mark.parametrize("line", ['user = "x"', "port = 2222"])
def test_two_accounts_on_one_machine_give_no_notice(tmp_path: Path, line: str) -> None:
    text = f'[hosts.two]\naddress = "one"\nclients = ["pi"]\n{line}\n'
    assert fleet(tmp_path, ROUTER + HOST + text).notices == ()


# --- selecting hosts ---------------------------------------------------------------

THREE = (
    '[hosts.node-a]\nclients = ["pi"]\ngroups = ["canary"]\n'
    '[hosts.node-b]\nclients = ["pi"]\nhold = "off"\n'
    '[hosts.mac]\nclients = ["pi"]\ngroups = ["canary", "mac"]\n'
)


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        ([], ["node-a", "node-b", "mac"]),
        (["mac"], ["mac"]),
        (["@canary"], ["node-a", "mac"]),
        (["node-*"], ["node-a", "node-b"]),
        (["*"], ["node-a", "node-b", "mac"]),
        (["node-[b]"], ["node-b"]),
        (["mac", "node-a", "@mac"], ["node-a", "mac"]),
    ],
)
def test_patterns_select_hosts_once_in_the_inventory_s_order(
    tmp_path: Path, patterns: list[str], names: list[str]
) -> None:
    found = fleet(tmp_path, ROUTER + THREE).select(patterns)
    assert [host.name for host in found] == names


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("node-c", "did you mean node-b, node-a"),
        ("@canry", "did you mean @canary"),
        ("canary", "did you mean @canary"),
        ("@node-a", "did you mean node-a"),
        ("MAC", "the inventory has node-a, node-b, mac, @canary, @mac"),
        ("", "the inventory has node-a, node-b, mac, @canary, @mac"),
        ("zz*", "the inventory has node-a, node-b, mac, @canary, @mac"),
    ],
)
def test_a_pattern_that_names_no_host_is_refused_with_near_names(
    tmp_path: Path, pattern: str, hint: str
) -> None:
    with pytest.raises(UsageError) as error:
        fleet(tmp_path, ROUTER + THREE).select(["mac", pattern])
    assert error.value.message == f'no host or group is named "{pattern}"'
    assert error.value.hint.startswith(hint)


# --- wishes ------------------------------------------------------------------------


def test_a_wish_says_what_one_client_gets_on_one_host(tmp_path: Path) -> None:
    text = '[hosts.one.pi]\ncommands = [["/bin/node", "/bin/pi"]]\nprofiles = ["work"]\n'
    found = fleet(tmp_path, ROUTER + HOST + text)
    wished = wish(found, found.catalog, found.hosts[0], "pi")
    assert (wished.client, wished.provider, wished.base_url, wished.credential) == (
        "pi",
        "anvil",
        "https://router.example.net/v1",
        "ROUTER_API_KEY",
    )
    assert wished.options == {"commands": (("/bin/node", "/bin/pi"),), "profiles": ("work",)}
    assert wished.known == {"llm.primary", "llm.secondary", "vision.ocr"}
    assert pickle.loads(pickle.dumps(wished)) == wished


@pytest.mark.parametrize("key", ["provider", "base_url", "credential"])
def test_a_host_overrides_one_key_of_the_router_alone(tmp_path: Path, key: str) -> None:
    other = {"provider": "local", "base_url": "http://10.0.0.1/v1", "credential": "LOCAL_KEY"}
    text = f'{ROUTER}{HOST}[hosts.one.router]\n{key} = "{other[key]}"\n'
    found = fleet(tmp_path, text)
    wished = wish(found, found.catalog, found.hosts[0], "pi")
    expected = {name: getattr(found.router, name) for name in other} | {key: other[key]}
    assert {name: getattr(wished, name) for name in other} == expected


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ("llm.primary", "llm.secondary", "vision.ocr")),
        ('[clients.pi]\ninclude = ["vision.ocr", "llm.primary"]\n', ("llm.primary", "vision.ocr")),
        ('[clients.pi]\nexclude = ["llm.primary"]\n', ("llm.secondary", "vision.ocr")),
        (
            '[clients.hermes]\nexclude = ["llm.primary"]\n',
            ("llm.primary", "llm.secondary", "vision.ocr"),
        ),
        (
            '[clients.pi]\ninclude = ["llm.primary", "vision.ocr"]\nexclude = ["vision.ocr"]\n',
            ("llm.primary",),
        ),
        (
            '[clients.pi]\ninclude = ["llm.primary"]\n[hosts.one.pi]\ninclude = ["vision.ocr"]\n',
            ("vision.ocr",),
        ),
        (
            '[clients.pi]\nexclude = ["llm.primary"]\n[hosts.one.pi]\nexclude = []\n',
            ("llm.primary", "llm.secondary", "vision.ocr"),
        ),
        (
            '[clients.pi]\ninclude = ["llm.primary", "vision.ocr"]\n'
            '[hosts.one.pi]\nexclude = ["llm.primary"]\n',
            ("vision.ocr",),
        ),
    ],
)
def test_aliases_are_selected_by_the_narrowest_table_in_the_catalog_s_order(
    tmp_path: Path, text: str, names: tuple[str, ...]
) -> None:
    assert aliases(fleet(tmp_path, ROUTER + HOST + text)) == names


LAYERS = ("policy", "clients.pi.policy", "hosts.one.policy", "hosts.one.pi.policy")


@pytest.mark.parametrize("narrowest", range(len(LAYERS)))
def test_the_narrowest_policy_that_spells_a_key_decides_it(tmp_path: Path, narrowest: int) -> None:
    layers = "".join(
        f"[{layer}]\nprune = {'true' if level == narrowest else 'false'}\n"
        for level, layer in enumerate(LAYERS[: narrowest + 1])
    )
    found = fleet(tmp_path, ROUTER + HOST + layers)
    assert wish(found, found.catalog, found.hosts[0], "pi").policy == Policy(prune=True)


def test_a_narrow_policy_can_return_to_the_default(tmp_path: Path) -> None:
    text = "[policy]\nprune = true\n[hosts.one.pi.policy]\nprune = false\n"
    found = fleet(tmp_path, ROUTER + HOST + text)
    assert wish(found, found.catalog, found.hosts[0], "pi").policy == Policy()


def test_policies_are_merged_key_by_key(tmp_path: Path) -> None:
    text = '[policy]\nprune = true\n[hosts.one.policy]\ncredential_scope = "interactive"\n'
    found = fleet(tmp_path, ROUTER + HOST + text)
    wished = wish(found, found.catalog, found.hosts[0], "pi")
    assert wished.policy == Policy(prune=True, credential_scope="interactive")


# --- where the inventory is --------------------------------------------------------


@pytest.mark.parametrize(
    ("explicit", "variable", "used"),
    [
        ("given", "named", "given"),
        (None, "named", "named"),
        (None, "", "inventory"),
        (None, None, "inventory"),
    ],
)
def test_the_first_place_that_is_given_decides(
    tmp_path: Path, explicit: str | None, variable: str | None, used: str
) -> None:
    for name in ("given", "named", "inventory"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "fleet.toml").touch()
    environ = {} if variable is None else {"FLEETSYNC_INVENTORY": variable}
    asked = tmp_path / explicit if explicit else None
    assert find(asked, environ, tmp_path) == tmp_path / used


@pytest.mark.parametrize("explicit", ["given", None])
def test_a_place_without_a_fleet_is_refused_and_never_passed_over(
    tmp_path: Path, explicit: str | None
) -> None:
    (tmp_path / "inventory").mkdir()
    (tmp_path / "inventory" / "fleet.toml").touch()
    asked = tmp_path / explicit if explicit else None
    with pytest.raises(UsageError) as error:
        find(asked, {"FLEETSYNC_INVENTORY": "named"}, tmp_path)
    assert str(tmp_path / (explicit or "named") / "fleet.toml") in error.value.message


def test_no_inventory_names_the_three_places_and_a_next_command(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        find(None, {}, tmp_path)
    told = ("--inventory DIR", "FLEETSYNC_INVENTORY", "./inventory", "catalog.toml", "demo")
    assert [words for words in told if words not in error.value.hint] == []


# --- the example, the schemas ------------------------------------------------------

OPERATOR_TABLES = (
    fleetfile.FleetTable,
    fleetfile.RouterTable,
    fleetfile.HostTable,
    fleetfile.HostClientTable,
    fleetfile.SmokeTable,
    fleetfile.CatalogSourceTable,
    Policy,
    CatalogTable,
    AliasTable,
)
EXAMPLE = Path(__file__).parents[2] / "inventory"


def test_the_example_inventory_loads_without_a_notice() -> None:
    found = load(EXAMPLE, ["hermes", "openclaw", "pi"])
    assert [host.name for host in found.hosts] == ["primary-node", "companion-node", "mid-mod"]
    assert found.notices == ()


def test_the_example_catalog_holds_four_aliases_with_equal_limits() -> None:
    found = load(EXAMPLE, ["pi"]).catalog
    assert {(alias.context_window, alias.max_output_tokens) for alias in found.aliases} == {
        (393216, 4096)
    }
    assert found.names == ("llm.primary", "llm.secondary", "vision.general", "vision.ocr")


def test_the_example_s_readme_explains_every_key() -> None:
    readme = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    keys = {key for table in OPERATOR_TABLES for key in table.model_fields}
    assert sorted(key for key in keys if not re.search(rf"[`.]{key}[`.]", readme)) == []


def test_the_shipped_schemas_are_current() -> None:
    directory = Path(schemas.__file__).parent
    shipped = {path.name: path.read_text(encoding="utf-8") for path in directory.glob("*.json")}
    assert shipped == schemas.written(), (
        'refresh them: python -c "from pathlib import Path; from fleetsync.schemas import write; '
        "write(Path('fleetsync/schemas'))\""
    )


def test_every_key_of_the_schemas_says_what_it_expects() -> None:
    silent = [
        f"{table}.{key}"
        for schema in schemas.schemas().values()
        for table, held in {**schema["$defs"], "top": schema}.items()
        for key, value in held["properties"].items()
        if "description" not in json.dumps(value) and "$ref" not in json.dumps(value)
    ]
    assert silent == []


# --- whatever stands in the file ---------------------------------------------------

KNOWN = {key for table in OPERATOR_TABLES for key in table.model_fields} | {"pi", "one", "[key]"}
KEYS = st.sampled_from(sorted(KNOWN)) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=4
)
SCALARS = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    | st.dates()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4)
)
TABLES = st.fixed_dictionaries(
    {},
    optional={
        "router": VALUES,
        "hosts": st.dictionaries(KEYS, st.dictionaries(KEYS, VALUES, max_size=4), max_size=2),
        "clients": st.dictionaries(KEYS, VALUES, max_size=2),
        "aliases": st.dictionaries(KEYS, st.dictionaries(KEYS, VALUES, max_size=4), max_size=2),
        "policy": VALUES,
    },
)


@settings(deadline=None)
@given(tables=TABLES)
def test_any_table_is_an_inventory_or_told_in_printable_lines(
    tmp_path_factory: pytest.TempPathFactory, tables: dict[str, object]
) -> None:
    text = tomlkit.dumps(tables)
    directory = tmp_path_factory.mktemp("any")
    try:
        fleet(directory, text, text)
    except ConfigError as error:
        assert all(line.isprintable() for line in error.problems)


@settings(deadline=None)
@given(
    text=st.text(st.sampled_from("[]{}\"'=.,#\\\n abh1") | st.characters(exclude_categories=["Cs"]))
)
def test_any_text_is_an_inventory_or_told(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    directory = tmp_path_factory.mktemp("any")
    with pytest.raises(ConfigError):
        fleet(directory, text, text)


# --- what needs no catalog ---------------------------------------------------------------


@pytest.mark.parametrize("catalog", [None, "[aliases.", "[aliases]\n", '[aliases."a"]\nx = 1\n'])
def test_the_hosts_are_known_whatever_state_the_catalog_is_in(
    tmp_path: Path, catalog: str | None
) -> None:
    text = ROUTER + '[clients.pi]\ninclude = ["llm.primary"]\n' + HOST
    (tmp_path / "fleet.toml").write_text(text)
    if catalog is not None:
        (tmp_path / "catalog.toml").write_text(catalog)
    found = load_hosts(tmp_path, ["pi"])
    assert ([host.name for host in found.hosts], found.catalog.aliases) == (["one"], ())


def test_a_fault_of_the_fleet_is_told_without_the_catalogs(tmp_path: Path) -> None:
    (tmp_path / "fleet.toml").write_text(ROUTER + HOST + "nonsense = 1\n")
    with pytest.raises(ConfigError) as caught:
        load_hosts(tmp_path, ["pi"])
    assert ["fleet.toml" in line for line in caught.value.problems] == [True]
