"""Run ``rebalance-sim check`` with spark-submit: ``spark-submit jobs/check.py --help`` lists the options."""

import sys

from rebalance_sim.cli import main

if __name__ == "__main__":
    raise SystemExit(main(["check", *sys.argv[1:]]))
