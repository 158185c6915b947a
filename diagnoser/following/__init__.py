"""Logs that go on: what was written is judged while it is written, and findings are told as they come and go.

This room knows no clock: whoever drives it tells it the time that has passed.
"""

from diagnoser.following.changes import Change
from diagnoser.following.follower import Follower, Pace
from diagnoser.following.tail import Tail

__all__ = ["Change", "Follower", "Pace", "Tail"]
