"""The firm panel: time of a generation, memory, and AUC beside two rivals, in one run.

    python -m benchmarks.panel [--generations N] [--seed N] [--set KEY=VALUE ...]
                               [--quick] [--json FILE]

The experiment `panel` is evolved: population 100, rule emr at depth 5, each generation
judged by some of the training rows. Then the last population is decoded and judged
once more, by all training rows: that is what a generation costs without the sampling,
and it decides which network is compared with scikit-learn's logistic regression and
gradient boosting (their defaults), on the same split. Test rows decide nothing.

Seconds per generation are given without compilation; those of the processor say what it
costs on one core where others are at work as well. Peak memory is that of the process,
before scikit-learn is imported; it must stay below 4 GiB.
"""

import argparse
import dataclasses
import importlib.util
import os
import statistics
import time

import jax
import numpy as np

from substrax.config import load_experiment
from substrax.evolution import Generation
from substrax.network import Networks, describe
from substrax.problems import Panel, auc

from .peak import peak_mebibytes
from .sheet import Sheet

LIMIT_GIB = 4.0


def show(generation: Generation) -> None:
    record = generation.record
    if record.generation % 10 == 0:
        print(
            f"generation {record.generation:>3}: best {record.best_fitness:.4f}, "
            f"{record.seconds - record.compile_seconds:6.2f} s, "
            f"{record.mean_network_links:>6.0f} links on average",
            flush=True,
        )


def rivals(panel: Panel) -> dict[str, tuple[float, float, float]]:
    """Train AUC, test AUC and seconds of each."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    models = {
        "logistic regression": LogisticRegression(),
        "gradient boosting": HistGradientBoostingClassifier(random_state=0),
    }
    result = {}
    for name, model in models.items():
        began = time.perf_counter()
        model.fit(
            panel.train[0][:, :-1], panel.train[1]
        )  # they have a bias of their own
        seconds = time.perf_counter() - began
        train, test = (
            auc(model.predict_proba(inputs[:, :-1])[:, 1], labels)
            for inputs, labels in (panel.train, panel.test)
        )
        result[name] = train, test, seconds
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description="The panel beside two rivals.")
    parser.add_argument("--generations", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE")
    parser.add_argument("--quick", action="store_true", help="three generations")
    parser.add_argument("--json", metavar="FILE", help="keep the tables")
    arguments = parser.parse_args()
    if arguments.quick and arguments.generations is None:
        arguments.generations = 3
    sheet = Sheet("panel", arguments.json)
    changes = dict(text.split("=", 1) for text in arguments.set)
    changes["seed"] = arguments.seed
    if arguments.generations is not None:
        changes["generations"] = arguments.generations
    experiment = load_experiment("panel").with_settings(changes)
    parts = experiment.build()
    panel, decoder = parts.problem, parts.decoder
    assert isinstance(panel, Panel)
    num_cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else "?"
    )
    print(
        f"population {experiment.neat.population_size}, depth "
        f"{experiment.values['method.depth']}, {experiment.run.generations} "
        f"generations of {panel.samples_per_generation or len(panel.train[0])} of "
        f"{len(panel.train[0])} training rows, seed {arguments.seed}, {num_cores} cores"
    )
    began = time.perf_counter()
    clock = [time.process_time()]

    def tick(_: Generation) -> None:
        clock.append(time.process_time())

    result = experiment.evolve(callbacks=[show, tick])
    total = time.perf_counter() - began
    seconds = [r.seconds - r.compile_seconds for r in result.history]
    processor = statistics.median(np.diff(clock))

    everything = dataclasses.replace(panel, samples_per_generation=None)
    once, once_processor = time.perf_counter(), time.process_time()
    last = decoder.decode(parts.algorithm.ask(result.state))
    assert result.best_network is not None
    networks = Networks.join([last, result.best_network])
    train_auc = everything.fitness(networks, key=jax.random.key(0))
    once = time.perf_counter() - once
    once_processor = time.process_time() - once_processor
    best = networks[int(np.nanargmax(train_auc))]
    test_auc = everything.measures(best)["test_auc"]
    peak = (peak_mebibytes() or 0.0) / 1024

    print(
        f"\n{statistics.median(seconds):.2f} s per generation (median; at most "
        f"{max(seconds):.2f}; {processor:.2f} s of processor time), {total:.0f} s in "
        "all with compilation"
    )
    print(
        f"{once:.2f} s for a generation that is judged by all training rows "
        f"({once_processor:.2f} s of processor time)"
    )
    print(
        f"peak memory {peak:.2f} GiB of {LIMIT_GIB:g}: "
        f"{'holds' if peak < LIMIT_GIB else 'does not hold'}"
    )
    print(f"best network: {str(describe(best)).replace(chr(10), '; ')}\n")
    sheet.begin(
        f"The firm panel, {experiment.run.generations} generations of population "
        f"{experiment.neat.population_size}, beside scikit-learn",
        "program            ", "train AUC", "test AUC", "seconds", "time / ours",
        notes=(
            f"{statistics.median(seconds):.2f} s per generation ({processor:.2f} s of "
            f"processor time); {once:.2f} s for one judged by all training rows "
            f"({once_processor:.2f}); peak memory {peak:.2f} GiB.",
        ),
    )  # fmt: skip
    table = {"substrax": (float(np.nanmax(train_auc)), test_auc, total)}
    if importlib.util.find_spec("sklearn") is None:
        sheet.note("scikit-learn is not installed: pip install scikit-learn")
    else:
        table |= rivals(everything)
    for name, (train, test, took) in table.items():
        sheet.row(name, train, test, took, took / total)
    sheet.write()


if __name__ == "__main__":
    main()
