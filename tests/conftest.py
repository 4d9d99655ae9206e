"""How hypothesis runs: the same examples each time, and no verdict by the clock."""

from hypothesis import settings

settings.register_profile("fleetsync", deadline=None, derandomize=True)
settings.load_profile("fleetsync")
