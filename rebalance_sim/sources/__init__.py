"""Where fleets come from: each source makes the input tables of ``rebalance_sim.tables``."""
