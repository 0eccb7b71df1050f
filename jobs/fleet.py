"""spark-submit jobs/fleet.py OPTIONS: the job ``fleet`` of rebalance-sim (``--help`` lists the options)."""

import sys

from rebalance_sim.cli import main

if __name__ == "__main__":
    raise SystemExit(main(["fleet", *sys.argv[1:]]))
