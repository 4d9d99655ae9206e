"""How much of each matrix runs: `make test` takes one of every kind, `make test-all` all."""

from __future__ import annotations

import os

FULL = os.environ.get("FLEETSYNC_MATRIX") == "full"
