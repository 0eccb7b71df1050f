"""Run ``rebalance-sim fleet`` with spark-submit: ``spark-submit jobs/fleet.py --help`` lists the options."""

import sys

from rebalance_sim.cli import main

if __name__ == "__main__":
    raise SystemExit(main(["fleet", *sys.argv[1:]]))
