"""spark-submit jobs/partition.py OPTIONS: the job ``partition`` of rebalance-sim (``--help`` lists the options)."""

import sys

from rebalance_sim.cli import main

if __name__ == "__main__":
    raise SystemExit(main(["partition", *sys.argv[1:]]))
