"""Rules that assignors of several families follow, each written once."""
