"""Run ``rebalance-sim history`` with spark-submit: ``spark-submit jobs/history.py --help`` lists the options."""

import sys

from rebalance_sim.cli import main

if __name__ == "__main__":
    raise SystemExit(main(["history", *sys.argv[1:]]))
