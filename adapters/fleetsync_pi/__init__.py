"""Pi (`@earendil-works/pi-coding-agent`, before `@mariozechner/pi-coding-agent`)."""

from .client import PiAdapter

adapter = PiAdapter()

__all__ = ["PiAdapter", "adapter"]
