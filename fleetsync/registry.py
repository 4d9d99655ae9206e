"""Which clients can be synced: the adapters of all installed distributions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points

from fleetsync.adapter import Adapter
from fleetsync.errors import UsageError
from fleetsync.fleetfile import RESERVED

GROUP = "fleetsync.adapters"
_NAME = re.compile(r"[a-z][a-z0-9-]*")


def discover() -> dict[str, Adapter]:
    """Every installed adapter by its client's name, in the order of names.

    Raises UsageError where there is none, where two distributions claim one name, and
    where an adapter does not load, has another name, or a name that fleet.toml cannot hold.
    """
    return adapters_of(entry_points(group=GROUP))


def adapters_of(points: Iterable[EntryPoint]) -> dict[str, Adapter]:
    """The adapters behind `points`; raises as `discover` does."""
    claims: dict[str, EntryPoint] = {}
    for point in sorted(points, key=lambda point: point.name):
        first = claims.setdefault(point.name, point)
        if first != point or _distribution(first) != _distribution(point):
            raise UsageError(
                f'two adapters are named "{point.name}": '
                f"of {_distribution(first)} and of {_distribution(point)}",
                "uninstall one of the two distributions",
            )
    if not claims:
        raise UsageError(
            "no adapter is installed, so no client can be synced",
            "install fleetsync itself (`pip install -e .` in a checkout), not only its files",
        )
    return {name: _load(point) for name, point in claims.items()}


def fits(name: str) -> bool:
    """Whether fleet.toml can hold `name` as a client's."""
    return bool(_NAME.fullmatch(name)) and name not in RESERVED


def _load(point: EntryPoint) -> Adapter:
    where = f'the adapter "{point.name}" of {_distribution(point)}'
    if not fits(point.name):
        raise UsageError(
            f"{where} has a name that a host's table cannot hold",
            "an adapter's name is lower-case letters, digits and '-', and no key of a host",
        )
    try:
        adapter: Adapter = point.load()
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{where} does not load: {error}", "install it again") from error
    if getattr(adapter, "name", None) != point.name:
        raise UsageError(f"{where} gives itself another name", "install another version of it")
    return adapter


def _distribution(point: EntryPoint) -> str:
    return point.dist.name if point.dist else "an unnamed distribution"
