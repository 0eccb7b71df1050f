"""Run ``rebalance-sim audit`` with spark-submit: ``spark-submit jobs/audit.py --help`` lists the options."""

import sys

from rebalance_sim.cli import main

if __name__ == "__main__":
    raise SystemExit(main(["audit", *sys.argv[1:]]))
