import os

# Before any rule is imported: tests run the compiled rules, however few rows they have.
os.environ.setdefault("REBALANCE_SIM_COMPILE", "always")
