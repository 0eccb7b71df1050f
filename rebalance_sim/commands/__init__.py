"""The jobs: what ``rebalance-sim NAME`` and ``spark-submit jobs/NAME.py`` do."""
