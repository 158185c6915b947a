"""Finds and reads the knowledge under ``rules/``: vocabulary, catalogue of engine versions, GPUs."""
