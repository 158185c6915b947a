"""A run judged: the knowledge loaded, the run's own facts settled, rules evaluated, objectives measured."""
