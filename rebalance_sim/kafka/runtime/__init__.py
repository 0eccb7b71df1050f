"""The kernel compiler, and Java's and Scala's strings, hash maps and random numbers as kernels."""
