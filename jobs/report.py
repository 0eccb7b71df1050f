"""Run ``rebalance-sim report`` with spark-submit: ``spark-submit jobs/report.py --help`` lists the options."""

import sys

from rebalance_sim.cli import main

if __name__ == "__main__":
    raise SystemExit(main(["report", *sys.argv[1:]]))
