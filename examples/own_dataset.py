"""Data of your own: give arrays, get a classifier that grew by itself.

The data are two half moons, which no straight line separates. Half of the points are
held back as a test. Run it with `python examples/own_dataset.py`.
"""

import tempfile
from pathlib import Path

import numpy as np

import substrax as sx


def moons(num: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points on two interlocking arcs, with noise; and which arc."""
    rng = np.random.default_rng(seed)
    is_lower = rng.integers(0, 2, num) == 1
    angle = rng.uniform(0, np.pi, num)
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    lower = np.column_stack([1 - np.cos(angle), 0.5 - np.sin(angle)])
    points = np.where(is_lower[:, None], lower, upper)
    points += rng.normal(scale=0.1, size=points.shape)
    return points, np.where(is_lower, "lower", "upper")


def main(**settings) -> sx.Run:
    X, y = moons(200, seed=0)
    X_test, y_test = moons(200, seed=1)
    problem = sx.data_problem(X, y, X_test=X_test, y_test=y_test, target=0.97)
    settings = {"method": "neat", "generations": 100} | settings
    run = sx.evolve(problem, progress=True, **settings)
    print(run)

    # A model answers with your labels, and knows how your data were scaled.
    print(run.best.predict([[0.0, 1.0], [1.0, -0.5]]))
    with tempfile.TemporaryDirectory() as folder:
        file = run.best.save(Path(folder) / "moons.safetensors")
        again = sx.load(file)
    print(f"right on the test: {np.mean(again.predict(X_test) == y_test):.1%}")
    return run


if __name__ == "__main__":
    main()
