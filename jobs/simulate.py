"""Run ``rebalance-sim simulate`` with spark-submit: ``spark-submit jobs/simulate.py --help`` lists the options."""

import sys

from rebalance_sim.cli import main

if __name__ == "__main__":
    raise SystemExit(main(["simulate", *sys.argv[1:]]))
