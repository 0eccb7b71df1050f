"""A group's coordinator and its consumers on a simulated clock."""
