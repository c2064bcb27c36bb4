"""Quality gates: a batch is measured by plain functions, and judged by suites of expectations."""
