"""Runs of jobs: output folders, run records, plans, checks and progress."""
