"""Addresses as inputs: live metrics endpoints and Prometheus servers. Loaded only when an address was named."""
