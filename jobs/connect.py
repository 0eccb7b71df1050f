"""Run ``rebalance-sim connect`` with spark-submit: ``spark-submit jobs/connect.py --help`` lists the options."""

import sys

from rebalance_sim.cli import main

if __name__ == "__main__":
    raise SystemExit(main(["connect", *sys.argv[1:]]))
