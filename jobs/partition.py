"""Run ``rebalance-sim partition`` with spark-submit: ``spark-submit jobs/partition.py --help`` lists the options."""

import sys

from rebalance_sim.cli import main

if __name__ == "__main__":
    raise SystemExit(main(["partition", *sys.argv[1:]]))
