"""Comparing: two reports, or the runs and ranks of one, side by side. Knows the report's data and nothing of the engine."""
