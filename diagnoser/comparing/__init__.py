"""Comparing: two reports, or the runs and ranks of one, side by side. Knows the data of reports and no engine."""
