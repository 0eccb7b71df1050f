"""Explanations of where keys go, which need no Spark."""
