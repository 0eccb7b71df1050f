"""Finds out what is wrong with each group, and what to do about it: one module for each family of findings.

``audits`` brings the tables of a fleet together by group, and applies the families to each group. To add a kind of
finding, add a ``Kind`` to its family and yield findings of it.
"""
