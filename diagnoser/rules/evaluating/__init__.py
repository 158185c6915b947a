"""What an expression says of a run: three-valued, with what proves it and what would decide it."""
