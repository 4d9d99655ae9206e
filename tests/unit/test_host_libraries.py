"""What is sent to a host together defines each function once, in plain ASCII."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import pytest

from fleetsync.errors import HostUnusable
from fleetsync.remote import Prover, Reader, Remote, Runner, Writer
from fleetsync.testing.local import MemoryRemote

SENDERS: dict[str, Callable[[Remote], object]] = {
    "reader": lambda remote: Reader(remote).call(()),
    "prover": lambda remote: Prover(remote).call(()),
    "runner": lambda remote: Runner(remote).call(()),
    "runner with keys": lambda remote: Runner(remote).with_keys(()),
    "writer": lambda remote: Writer(remote).call(()),
}


@pytest.mark.parametrize("sender", SENDERS)
def test_no_function_is_defined_twice(sender: str) -> None:
    remote = MemoryRemote([b""])
    with pytest.raises(HostUnusable):
        SENDERS[sender](remote)
    names = Counter(re.findall(r"^(fs_\w+)\(\) \{$", remote.sent[0].decode("ascii"), re.M))
    assert len(names) > 20
    assert [name for name, count in names.items() if count > 1] == []
