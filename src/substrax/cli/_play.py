"""`substrax play`: the best network in its environment."""

import argparse
from pathlib import Path

from .._types import counted
from ..config import load_run
from ..problems import WorldProblem


def play(arguments: argparse.Namespace) -> int:
    """Shows an episode in a window, or writes it to a file."""
    if not 0 <= arguments.episode < 2**31:
        raise ValueError(
            f"--episode is {arguments.episode}; choose a number from 0 to 2^31 - 1."
        )
    experiment, directory = load_run(arguments.directory)
    problem = experiment.problem
    if not isinstance(problem, WorldProblem):
        raise ValueError(
            f"the run in {directory.path} is about {problem.name}, which has nothing "
            "to be watched. `substrax play` is for runs in environments of gymnasium, "
            "gymnax, brax or playground."
        )
    best = directory.best()
    if best is None:
        raise ValueError(
            f"{directory.path} has no best network yet; let it run for a generation."
        )
    problem = problem.prepared(best.preparation)
    mode = "human" if arguments.out is None else "rgb_array"
    if mode == "human" and not problem.has_window:
        raise ValueError(
            f"{problem.name} has no window to watch. Write a film instead: "
            f"substrax play {arguments.directory} --out episode.gif"
        )
    watched = problem.watch(best.network, seed=arguments.episode, mode=mode)
    if arguments.out is not None:
        from ..report import write_animation

        print(write_animation(watched, best.network, Path(arguments.out)))
    steps = counted(len(watched.rewards), "step")
    print(f"episode {arguments.episode}: {steps}, return {watched.rewards.sum():.6g}")
    return 0
