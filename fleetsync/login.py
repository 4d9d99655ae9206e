"""Logging in to a host with what the operator has: the agent, identities, a password.

An encrypted identity is used through the agent where that holds it; else its passphrase
comes from the operator's own secrets. A password is sent only where the host takes
nothing else and somebody sits at a terminal.
"""

from __future__ import annotations

import contextlib
import functools
import shlex
import socket
from collections.abc import Sequence
from pathlib import Path

import paramiko
from cryptography.exceptions import UnsupportedAlgorithm
from paramiko.agent import AgentSSH
from paramiko.pkey import UnknownKeyType
from paramiko.ssh_exception import BadAuthenticationType, PasswordRequiredException

from fleetsync.errors import Away, HostError
from fleetsync.identities import Identities, Offer, Unusable
from fleetsync.own_secrets import SERVICE, Found, OwnSecrets
from fleetsync.ssh_config import Endpoint

_BY_PASSWORD = frozenset({"password", "keyboard-interactive"})


class Login:
    """Logging in to one endpoint, as an `AuthStrategy` of Paramiko."""

    def __init__(self, endpoint: Endpoint, seconds: float, secrets: OwnSecrets) -> None:
        """`seconds` bounds the answer to each identity."""
        self.endpoint = endpoint
        self._seconds = seconds
        self._secrets = secrets
        self._account = f"{endpoint.user}@{endpoint.host}"
        self._identities = self._afresh()
        self._wants_password = False

    def prepare(self) -> None:
        """Look for the passphrases of identities that somebody named for this endpoint.

        Those of others are looked for only where nothing else opens it: see `found_more`.
        """
        if not self.endpoint.chosen:
            return
        self._identities.offers(())
        if self._identities.locked:
            self._identities = self._afresh()
            with contextlib.ExitStack() as stack:
                self._identities.offers(self._agent_keys(stack))
            self._unlock()

    def authenticate(self, transport: paramiko.Transport) -> None:
        """Raises AuthenticationRefused, or Away when the host says nothing."""
        self._identities, self._wants_password = self._afresh(), False
        with contextlib.ExitStack() as stack:
            offers = self._identities.offers(self._agent_keys(stack))
            try:
                self._by_keys(transport, offers)
            except BadAuthenticationType as error:
                self._by_password(transport, error.allowed_types)

    def found_more(self) -> bool:
        """After a connection failed: look for what this login lacked, and tell whether it
        is there now. Raises AuthenticationRefused anew where what was found is wrong."""
        if self._identities.told is None:
            return False    # it was not this one that was refused
        if self._wants_password:
            question = f"Password of {self._account}: "
            return self._secrets.find(self._account, question, bool).secret is not None
        if self._unlock():
            return True
        raise self._identities.refused(*self._identities.told)

    def _afresh(self) -> Identities[paramiko.PKey]:
        return Identities(self.endpoint, functools.partial(_load, secrets=self._secrets))

    def _unlock(self) -> bool:
        """Look for the passphrases of locked identities; tell whether one has opened."""
        found = {path: _unlock(path, self._secrets) for path in self._identities.locked}
        for path, one in found.items():
            self._identities.cannot_use(path, _locked(path, one))
        return any(one.secret is not None for one in found.values())

    def _by_keys(
        self, transport: paramiko.Transport, offers: Sequence[Offer[paramiko.PKey]]
    ) -> None:
        """Raises BadAuthenticationType where the host takes no key at all."""
        if any(self._accepted(transport, offer) for offer in offers):
            return
        # Some servers take RSA with SHA2-256 alone and do not say so.
        transport.disabled_algorithms = {"pubkeys": ["rsa-sha2-512"]}
        rsa = [offer for offer in offers if "rsa" in offer.key.get_name()]
        if any(self._accepted(transport, offer) for offer in rsa):
            return
        if not offers and self._let_in(transport):
            return
        raise self._identities.refused("accepts none of the identities offered")

    def _accepted(self, transport: paramiko.Transport, offer: Offer[paramiko.PKey]) -> bool:
        self._identities.offered.append(offer.label)
        try:
            further = transport.auth_publickey(self.endpoint.user, offer.key)
        except BadAuthenticationType:
            raise
        except paramiko.AuthenticationException as error:
            if transport.is_active() and "timeout" not in str(error):
                return False
            raise self._ended(transport, error) from error
        except (paramiko.SSHException, OSError, EOFError, ValueError) as error:
            raise self._ended(transport, error) from error
        if further:
            raise self._identities.refused(f"wants more than a key: {', '.join(further)}")
        return True

    def _let_in(self, transport: paramiko.Transport) -> bool:
        """Ask without a key, where there is none to offer: it tells what the host takes."""
        try:
            transport.auth_none(self.endpoint.user)
        except BadAuthenticationType as error:
            if "publickey" in error.allowed_types:
                return False
            raise
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise self._ended(transport, error) from error
        return True

    def _by_password(self, transport: paramiko.Transport, allowed: Sequence[str]) -> None:
        what = f"takes no key, but {', '.join(allowed)}"
        found = self._secrets.found(self._account)
        if not _BY_PASSWORD.issuperset(allowed) or self._secrets.prompt is None:
            raise self._identities.refused(what)
        if found is None or found.secret is None:
            self._wants_password = found is None
            raise self._identities.refused(what, self._for_password(found))
        try:
            further = transport.auth_password(self.endpoint.user, found.secret)
        except paramiko.AuthenticationException as error:
            if not transport.is_active():
                raise self._ended(transport, error) from error
            self._secrets.refute(self._account)
            raise self._identities.refused(
                "does not accept the password", self._for_password(found)
            ) from error
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise self._ended(transport, error) from error
        if further:
            raise self._identities.refused(f"wants more than a password: {', '.join(further)}")

    def _for_password(self, found: Found | None) -> str:
        if found and found.in_keyring:
            return f"keyring set {SERVICE} {shlex.quote(self._account)}"
        return "run it again, and type the password of that account"

    def _ended(self, transport: paramiko.Transport, error: Exception) -> HostError:
        if transport.is_active():
            return Away(
                f"{self.endpoint.label}: {self.endpoint.account}: no answer to an identity "
                f"within {self._seconds:g} s"
            )
        return self._identities.refused(
            f"ended the connection while identities were offered ({error})",
            "many identities may be too many: name one by `identity` in the inventory, "
            "or by IdentityFile and IdentitiesOnly in ~/.ssh/config",
        )

    def _agent_keys(self, stack: contextlib.ExitStack) -> Sequence[paramiko.PKey]:
        if not self.endpoint.agent:
            return ()
        try:
            agent = _Agent(self.endpoint.agent, self._seconds)
        except (OSError, paramiko.SSHException, ValueError):
            self._identities.unusable[f"the agent at {self.endpoint.agent}"] = "no answer"
            return ()
        stack.callback(agent.close)
        return agent.get_keys()


class _Agent(AgentSSH):
    """The agent behind one socket; Paramiko's own knows only SSH_AUTH_SOCK."""

    def __init__(self, path: str, seconds: float) -> None:
        super().__init__()
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.settimeout(seconds)
            connection.connect(path)
            self._connect(connection)  # type: ignore[attr-defined]  # absent from the stubs
        except (OSError, paramiko.SSHException, ValueError):
            connection.close()
            raise

    def close(self) -> None:
        """Let go of the agent."""
        self._close()  # type: ignore[attr-defined]  # absent from the stubs


# --- identity files --------------------------------------------------------------


def _load(path: Path, secrets: OwnSecrets) -> paramiko.PKey:
    """The key in a file. Raises Unusable or OSError."""
    found = secrets.found(_name(path))
    try:
        return _parse(path, path.stat().st_mtime_ns, found.secret if found else None)
    except (PasswordRequiredException, TypeError) as error:
        # cryptography raises TypeError for an encrypted key without a passphrase.
        raise _locked(path, found) from error
    except (paramiko.SSHException, UnknownKeyType, UnsupportedAlgorithm, ValueError) as error:
        raise Unusable("not a private key that can be used") from error


def _unlock(path: Path, secrets: OwnSecrets) -> Found:
    return secrets.find(
        _name(path), f"Passphrase for {path}: ", functools.partial(_is_passphrase, path)
    )


def _is_passphrase(path: Path, secret: str) -> bool:
    try:
        _parse(path, path.stat().st_mtime_ns, secret)
    except (ValueError, TypeError):
        return False
    except (paramiko.SSHException, UnknownKeyType, UnsupportedAlgorithm, OSError):
        return True    # it opens; that the key cannot be used is told where it is loaded
    return True


def _locked(path: Path, found: Found | None) -> Unusable:
    """That a passphrase is missing or wrong, and the command that puts it right."""
    if found is None or not found.wrong:
        reason = "encrypted, and not in the agent"
    elif found.in_keyring:
        command = f"keyring set {SERVICE} {shlex.quote(_name(path))}"
        return Unusable("encrypted, and the keyring has a wrong passphrase", command)
    else:
        reason = "encrypted, and the passphrase was wrong"
    return Unusable(reason, f"ssh-add {shlex.quote(str(path))}")


def _name(path: Path) -> str:
    """Under which name the keyring has the passphrase."""
    return str(path.absolute())


@functools.lru_cache(maxsize=64)
def _parse(path: Path, _mtime: int, secret: str | None) -> paramiko.PKey:
    password = None if secret is None else secret.encode("utf-8", "surrogateescape")
    # Paramiko's annotation says str; cryptography, to which it is passed, takes bytes.
    return paramiko.PKey.from_path(path, password)  # type: ignore[arg-type]
