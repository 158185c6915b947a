"""What a runtime wrapped around each line: found per line, peeled off, with its time and writer kept.

One module per envelope; the folder is the registry (a leading underscore marks what is no envelope). A module has
``NAME``, ``ORDER``, ``FIRST`` (the characters a line can begin with), ``HEAD`` (an anchored, linear regex without
capturing groups that tells the envelope from all others), ``SAMPLES`` (line, expected text or None for a dropped line,
expected time, expected stream) and ``peel``; it may have ``restored``, for a first line that was cut.
"""

from diagnoser.envelopes._ansi import cleaned
from diagnoser.envelopes._ongoing import OngoingPeeler
from diagnoser.envelopes._peeled import Peeled
from diagnoser.envelopes._peeler import Peeler
from diagnoser.envelopes._registry import Envelope, envelopes
from diagnoser.envelopes._shapes import epoch

__all__ = ["Envelope", "OngoingPeeler", "Peeled", "Peeler", "cleaned", "envelopes", "epoch"]
