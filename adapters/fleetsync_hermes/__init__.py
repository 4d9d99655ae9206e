"""Hermes Agent (`hermes-agent`, Nous Research): each of its profiles is a target."""

from .client import HermesAdapter

adapter = HermesAdapter()

__all__ = ["HermesAdapter", "adapter"]
