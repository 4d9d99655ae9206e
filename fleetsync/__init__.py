"""Keep the model catalogs of AI clients in step across a fleet of hosts, over SSH."""

from typing import TYPE_CHECKING

__all__ = ["__version__"]

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        """Look up `__version__` when it is first asked for: reading metadata takes milliseconds."""
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import version

        return version("fleetsync")
