"""
Tests of the rules. They pass compiled, and as plain Python too (numpy's overflows are errors in both):

    python -m pytest tests/kafka
    NUMBA_DISABLE_JIT=1 python -m pytest tests/kafka
"""
