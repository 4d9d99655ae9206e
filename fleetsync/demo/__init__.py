"""The main job on a fleet of three embedded hosts, which checks itself.

The hosts are SSH servers on loopback with homes, keys and a stand-in client in one
temporary directory, which is removed at the end. The commands are the real ones. Apart
from it, one turn can be taken through a real Pi.
"""

from fleetsync.demo.real import find
from fleetsync.demo.stage import Claim
from fleetsync.demo.story import tell
from fleetsync.demo.turn import take

__all__ = ["Claim", "find", "take", "tell"]
