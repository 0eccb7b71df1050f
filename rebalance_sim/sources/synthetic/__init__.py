"""Synthetic fleets."""
