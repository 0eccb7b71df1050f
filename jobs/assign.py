"""Run ``rebalance-sim assign`` with spark-submit: ``spark-submit jobs/assign.py --help`` lists the options."""

import sys

from rebalance_sim.cli import main

if __name__ == "__main__":
    raise SystemExit(main(["assign", *sys.argv[1:]]))
