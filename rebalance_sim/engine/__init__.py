"""Spark: applies the rules of ``rebalance_sim.kafka`` to tables."""
