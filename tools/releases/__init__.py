"""Reads released engines from the package registry: flags, variables, metrics, messages. Nothing of them runs."""
