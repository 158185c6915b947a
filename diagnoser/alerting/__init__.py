"""Alerting rules from the rule base: conditions that metrics can show, written as PromQL."""
