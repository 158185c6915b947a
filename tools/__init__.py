"""Tools of the project's keepers: nothing here is installed."""
