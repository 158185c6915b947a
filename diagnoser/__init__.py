"""Diagnose LLM inference servers from what they left behind."""

__version__ = "0.1.0"
