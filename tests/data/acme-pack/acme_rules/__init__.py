"""Rules of diagnose; nothing here is run."""
