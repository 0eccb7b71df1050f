"""spark-submit jobs/report.py OPTIONS: the job ``report`` of rebalance-sim (``--help`` lists the options)."""

import sys

from rebalance_sim.cli import main

if __name__ == "__main__":
    raise SystemExit(main(["report", *sys.argv[1:]]))
