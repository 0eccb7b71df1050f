"""Run ``rebalance-sim elect`` with spark-submit: ``spark-submit jobs/elect.py --help`` lists the options."""

import sys

from rebalance_sim.cli import main

if __name__ == "__main__":
    raise SystemExit(main(["elect", *sys.argv[1:]]))
