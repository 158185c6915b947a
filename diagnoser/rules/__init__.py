"""Rules: YAML on disk to checked objects, and their evaluation over a run."""
