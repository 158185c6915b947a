"""Reads released engine versions from the package registry: flags, variables, metrics, messages. Nothing of them runs."""
