"""The main job on a fleet of three embedded hosts, which checks itself.

The hosts are SSH servers on loopback with homes, keys and a stand-in client in one
temporary directory, which is removed at the end. The commands are the real ones.
"""

from fleetsync.demo.story import Claim, tell

__all__ = ["Claim", "tell"]
