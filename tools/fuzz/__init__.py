"""Fuzzing: every reader of outside bytes as a target, by random change or guided by coverage (atheris)."""
