"""From YAML to a checked rule base; a run that finds a compiled one loads nothing of it."""
