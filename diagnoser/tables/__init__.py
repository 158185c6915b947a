"""Samples in columns: what was measured over time, folded where it is long, and how quantities spread."""
