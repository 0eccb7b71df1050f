"""Run ``rebalance-sim streams`` with spark-submit: ``spark-submit jobs/streams.py --help`` lists the options."""

import sys

from rebalance_sim.cli import main

if __name__ == "__main__":
    raise SystemExit(main(["streams", *sys.argv[1:]]))
