"""spark-submit jobs/assign.py OPTIONS: the job ``assign`` of rebalance-sim (``--help`` lists the options)."""

import sys

from rebalance_sim.cli import main

if __name__ == "__main__":
    raise SystemExit(main(["assign", *sys.argv[1:]]))
