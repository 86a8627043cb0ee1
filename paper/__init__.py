"""Tables and figures of the paper, run anew: plans, runs, pages; `python -m paper`."""
