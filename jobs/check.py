"""spark-submit jobs/check.py OPTIONS: the job ``check`` of rebalance-sim (``--help`` lists the options)."""

import sys

from rebalance_sim.cli import main

if __name__ == "__main__":
    raise SystemExit(main(["check", *sys.argv[1:]]))
