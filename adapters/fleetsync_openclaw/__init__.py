"""OpenClaw (`openclaw` on npm)."""

from .client import OpenClawAdapter

adapter = OpenClawAdapter()

__all__ = ["OpenClawAdapter", "adapter"]
