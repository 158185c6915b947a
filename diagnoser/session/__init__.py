"""One diagnosis from inputs to report: logs to portions of the evidence, portions to runs, judgements to a report."""
