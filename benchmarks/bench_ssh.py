"""One exchange with each of N hosts, beside the real ssh client.

`python -m benchmarks.bench_ssh [N ...]` starts N sshd on loopback addresses and lets each
way in turn send a script and read 118 KB from every host, 16 at once, in a process that
is warm. Figures are medians of five rounds: seconds by the clock, and milliseconds of
the client's CPU for one host (`ssh -G` and the ssh client included, sshd not). The
servers share the machine, so compare the ways, not the machines.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from fleetsync.ssh import SshRemote
from tests.integration.sshd import RemoteHost, Sshd

AT_ONCE = 16
ROUNDS = 5
COMMAND = "sh -c 'eval \"$(cat)\"'"
ANSWER = 118000
SCRIPT = f"echo; head -c {ANSWER} /dev/zero; echo; echo @@ END\n".encode() + b"#" * 19000

Way = Callable[[RemoteHost], int]


def by_fleetsync(host: RemoteHost) -> int:
    return _exchange(SshRemote(host.at()))


def by_fleetsync_alone(host: RemoteHost) -> int:
    return _exchange(host.remote())


def by_ssh(host: RemoteHost) -> int:
    # What stands first wins; the host's own options follow.
    program, *options = host.ssh(COMMAND)
    argv = [program, "-o", "KexAlgorithms=curve25519-sha256", *options]
    done = subprocess.run(argv, input=SCRIPT, capture_output=True, check=True)
    return len(done.stdout)


FLOOR = "ssh -o KexAlgorithms=curve25519-sha256"
WAYS: dict[str, Way] = {
    FLOOR: by_ssh,
    "fleetsync": by_fleetsync,
    "fleetsync, without ssh -G": by_fleetsync_alone,
}


def main(counts: Sequence[int] = (1, 10, 30)) -> None:
    """Print the table."""
    print(f"{'way':40} {'hosts':>5} {'s':>7} {'x ssh':>6} {'CPU ms/host':>12}")
    for count in counts:
        with Sshd() as start:
            measured = _rounds([start() for _ in range(count)])
        floor = statistics.median(wall for wall, _ in measured[FLOOR])
        for name, figures in measured.items():
            wall = statistics.median(wall for wall, _ in figures)
            cpu = statistics.median(cpu for _, cpu in figures) / count * 1000
            print(f"{name:40} {count:5} {wall:7.3f} {wall / floor:6.2f} {cpu:12.1f}")


def _rounds(hosts: list[RemoteHost]) -> dict[str, list[tuple[float, float]]]:
    """Seconds by the clock and of CPU, for each way and round; the first is dropped."""
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name in WAYS}
    for _ in range(ROUNDS + 1):
        for name, way in WAYS.items():
            measured[name].append(_once(way, hosts))
    return {name: figures[1:] for name, figures in measured.items()}


def _once(way: Way, hosts: list[RemoteHost]) -> tuple[float, float]:
    cpu, wall = _cpu(), time.perf_counter()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        sizes = set(pool.map(way, hosts))
    wall, cpu = time.perf_counter() - wall, _cpu() - cpu
    if sizes != {ANSWER + len(b"\n\n@@ END\n")}:
        raise RuntimeError(f"an answer was cut: {sizes}")
    return wall, cpu


def _cpu() -> float:
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _exchange(remote: SshRemote) -> int:
    try:
        return len(remote.exchange(COMMAND, SCRIPT, b"@@ END", seconds=60))
    finally:
        remote.close()


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or (1, 10, 30))
