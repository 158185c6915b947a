"""What a report tells of a run beside its causes: figures, settings, stages, objectives, what would decide the rest."""
