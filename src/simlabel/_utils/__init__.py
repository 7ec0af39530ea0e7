"""What every room may lean on: checks and their words, registries, progress."""
