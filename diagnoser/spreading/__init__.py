"""One diagnosis by many workers: what each of them does, and how what they give goes together.

A log is read by one worker, a run is judged by one worker. What a worker gives depends on its own
task alone, and results are put in the order of the inputs: however many workers there are and whichever is first, the
report is the one that a single process makes.
"""
