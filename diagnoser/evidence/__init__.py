"""Evidence: records become runs, each with its samples, events, facts and residue."""

from diagnoser.evidence.collect import Collector

__all__ = ["Collector"]
