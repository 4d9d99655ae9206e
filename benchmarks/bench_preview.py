"""The command line as a whole: its start, and a preview of N hosts with a stand-in Pi.

`python -m benchmarks.bench_preview [N ...]`: each figure is one whole process by the
clock, the median of five after one that is dropped, beside N `ssh HOST true` at 16 at
once. The servers share the machine, so compare the ways, not the machines.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tests import standin
from tests.integration.sshd import RemoteHost, Sshd

ROUNDS = 5
KEX = ("-o", "KexAlgorithms=curve25519-sha256")


def main(counts: Sequence[int]) -> None:
    """Print the table."""
    print(f"{'what':44} {'hosts':>5} {'s':>7}")
    for words in (["--help"], ["--version"]):
        show(f"fleetsync {words[0]}", 0, partial(fleetsync, words))
    for count in counts:
        with Sshd() as start, tempfile.TemporaryDirectory() as scratch:
            hosts = [prepared(start()) for _ in range(count)]
            inventory = written(Path(scratch) / "inventory", hosts)
            show("ssh HOST true, 16 at once", count, partial(by_ssh, hosts))
            words = ["--inventory", str(inventory), "preview", "-q"]
            show("fleetsync preview", count, partial(fleetsync, words))


def show(what: str, count: int, once: Callable[[], None]) -> None:
    seconds = []
    for _ in range(ROUNDS + 1):
        began = time.perf_counter()
        once()
        seconds.append(time.perf_counter() - began)
    print(f"{what:44} {count:5} {statistics.median(seconds[1:]):7.3f}", flush=True)


def fleetsync(words: Sequence[str]) -> None:
    subprocess.run([sys.executable, "-m", "fleetsync", *words], check=True, capture_output=True)


def by_ssh(hosts: Sequence[RemoteHost]) -> None:
    def one(host: RemoteHost) -> None:
        program, *options = host.ssh("true")
        subprocess.run([program, *KEX, *options], check=True, capture_output=True)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(one, hosts))


def prepared(host: RemoteHost) -> RemoteHost:
    standin.install(host.home)
    standin.write_models(host.home, standin.models())
    standin.give_key(host.home)
    return host


def written(directory: Path, hosts: Sequence[RemoteHost]) -> Path:
    directory.mkdir()
    tables = "".join(
        f"[hosts.{host.name}]\n"
        + "".join(f"{k} = {json.dumps(v)}\n" for k, v in host.inventory_table().items())
        + 'clients = ["pi"]\n'
        for host in hosts
    )
    (directory / "fleet.toml").write_text(
        '[router]\nprovider = "anvil"\nbase_url = "https://router.example.net/v1"\n'
        f'credential = "{standin.NAME}"\n{tables}'
    )
    (directory / "catalog.toml").write_text("".join(
        f'[aliases."{name}"]\ncontext_window = 393216\nmax_output_tokens = 4096\n'
        for name in standin.ALIASES
    ))
    return directory


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or (1, 10))
