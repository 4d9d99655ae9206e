"""Where the operator's own secrets come from, and that nothing tells them."""

from __future__ import annotations

import pickle
import textwrap
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fleetsync import own_secrets
from fleetsync.own_secrets import Found, OwnSecrets, from_keyring

SECRET = "a secret of the operator"


def right(secret: str) -> bool:
    return secret == SECRET


class Prompt:
    """A terminal on which always the same is typed."""

    def __init__(self, answer: str | None) -> None:
        self.answer = answer
        self.asked: list[str] = []

    def __call__(self, question: str) -> str | None:
        self.asked.append(question)
        return self.answer


def secrets(kept: str | None = None, prompt: Prompt | None = None) -> OwnSecrets:
    return OwnSecrets(prompt, keyring={"key": kept}.get)


def test_the_keyrings_secret_is_taken_and_nobody_is_asked() -> None:
    prompt = Prompt(SECRET)
    assert secrets(SECRET, prompt).find("key", "?", right) == Found(SECRET, in_keyring=True)
    assert prompt.asked == []


def test_the_terminal_is_asked_where_the_keyring_has_nothing() -> None:
    prompt = Prompt(SECRET)
    assert secrets(None, prompt).find("key", "Passphrase: ", right) == Found(SECRET)
    assert prompt.asked == ["Passphrase: "]


def test_the_terminal_is_asked_where_the_keyrings_does_not_fit() -> None:
    assert secrets("old", Prompt(SECRET)).find("key", "?", right) == Found(SECRET)


@pytest.mark.parametrize(("kept", "typed", "found"), [
    (None, "wrong", Found(wrong=True)),
    ("old", "wrong", Found(wrong=True)),
    ("old", None, Found(wrong=True, in_keyring=True)),
    (None, None, Found()),
    (None, "", Found()),
])
def test_what_does_not_fit_is_not_found(kept: str | None, typed: str | None, found: Found) -> None:
    assert secrets(kept, Prompt(typed)).find("key", "?", right) == found


def test_without_a_terminal_the_keyring_alone_is_asked() -> None:
    assert secrets("old").find("key", "?", right) == Found(wrong=True, in_keyring=True)


def test_a_secret_is_looked_for_once() -> None:
    prompt = Prompt(None)
    subject = secrets(None, prompt)
    assert subject.found("key") is None
    assert [subject.find("key", "?", right) for _ in range(2)] == [Found(), Found()]
    assert subject.found("key") == Found()
    assert len(prompt.asked) == 1


def test_many_threads_ask_one_question_at_a_time_and_each_once() -> None:
    asked: list[str] = []
    at_once = threading.Semaphore(1)

    def prompt(question: str) -> str:
        assert at_once.acquire(blocking=False)
        time.sleep(0.01)
        asked.append(question)
        at_once.release()
        return SECRET

    subject = OwnSecrets(prompt, keyring=lambda _: None)
    names = ("one", "two", "three") * 8
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda name: subject.find(name, name, right).secret, names)
    assert set(found) == {SECRET}
    assert sorted(asked) == ["one", "three", "two"]


def test_a_secret_that_was_refuted_is_not_found_again() -> None:
    subject = secrets(SECRET)
    subject.find("key", "?", right)
    subject.refute("key")
    assert subject.find("key", "?", right) == Found(wrong=True, in_keyring=True)


def test_no_repr_and_no_pickle_tells_a_secret() -> None:
    subject = secrets(SECRET)
    assert SECRET not in repr(subject.find("key", "?", right)) + repr(subject)
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(subject)


# --- the system's keyring ----------------------------------------------------------------


@pytest.fixture
def backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes the system's keyring one whose `get_password` has this body."""

    def install(body: str) -> None:
        (tmp_path / "fake_ring.py").write_text(
            "import os, sys, time\nfrom keyring.backend import KeyringBackend\n\n"
            "class Ring(KeyringBackend):\n    priority = 1\n"
            "    def set_password(self, service, username, password): ...\n"
            "    def get_password(self, service, username):\n"
            + textwrap.indent(textwrap.dedent(body), " " * 8)
        )

    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "fake_ring.Ring")
    return install


def test_the_systems_keyring_is_asked_for_our_service(backend: Callable[[str], None]) -> None:
    backend("return f'{service} {username} pä$$ \"word\" '")
    assert from_keyring("/home/me/.ssh/id") == 'fleetsync /home/me/.ssh/id pä$$ "word" '


def test_a_keyring_without_the_entry_holds_nothing(backend: Callable[[str], None]) -> None:
    backend("return None")
    assert from_keyring("key") is None


@pytest.mark.parametrize("body", [
    "raise RuntimeError('the bus is gone')",
    "import keyring.errors; raise keyring.errors.KeyringLocked('locked')",
    "os._exit(3)",
    "os.kill(os.getpid(), 9)",
    "return open('/dev/tty').readline()",
])
def test_a_keyring_that_fails_holds_nothing(
    backend: Callable[[str], None], capfd: pytest.CaptureFixture[str], body: str
) -> None:
    backend(body)
    assert from_keyring("key") is None
    assert capfd.readouterr() == ("", "")


def test_a_keyring_that_never_answers_holds_nothing(
    backend: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend("time.sleep(3600)")
    monkeypatch.setattr(own_secrets, "_KEYRING_SECONDS", 1)
    assert from_keyring("key") is None


@pytest.mark.parametrize("name", ["no.such.Ring", "keyring.backends.fail.Keyring", "nonsense"])
def test_a_missing_keyring_holds_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", name)
    assert from_keyring("key") is None


def test_no_program_of_the_current_directory_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "keyring.py").write_text("print('from here')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    assert from_keyring("key") is None
