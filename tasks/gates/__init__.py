"""Quality gates: a batch is measured in plain functions, and judged against suites of expectations before it is
indexed.
"""
