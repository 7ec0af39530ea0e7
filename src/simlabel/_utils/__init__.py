"""Utilities of all packages: validation, text, files, threads, progress, warnings and size limits."""
