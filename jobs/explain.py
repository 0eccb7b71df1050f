"""Run ``rebalance-sim explain`` with spark-submit: ``spark-submit jobs/explain.py --help`` lists the options."""

import sys

from rebalance_sim.cli import main

if __name__ == "__main__":
    raise SystemExit(main(["explain", *sys.argv[1:]]))
