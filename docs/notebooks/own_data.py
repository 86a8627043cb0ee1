# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Your own data
#
# Any table of numbers and labels can be a problem. We make one, two half-moons that interlock, and
# compare what four methods find, over a few seeds each, by how well they do on points that they
# have never seen.

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import substrax as sx

# %% [markdown]
# ## The data
#
# Two hundred points to learn from, and two hundred for the test. Labels may be words.


# %%
def two_moons(num, rng):
    """Points on two half circles, with noise, and which half circle they are from."""
    angle = rng.uniform(0, np.pi, num)
    is_upper = rng.random(num) < 0.5
    x = np.where(is_upper, np.cos(angle), 1 - np.cos(angle))
    y = np.where(is_upper, np.sin(angle), 0.5 - np.sin(angle))
    points = np.column_stack([x, y]) + rng.normal(0, 0.2, (num, 2))
    return points, np.where(is_upper, "upper", "lower")


rng = np.random.default_rng(1)
X_train, y_train = two_moons(200, rng)
X_test, y_test = two_moons(200, rng)


def scatter(axes, X, y):
    for label, colour in (("upper", "tab:blue"), ("lower", "tab:orange")):
        axes.scatter(*X[y == label].T, c=colour, s=12, label=label)
    axes.set_aspect("equal")


figure, axes = plt.subplots(figsize=(4.5, 3))
scatter(axes, X_train, y_train)
axes.legend()
plt.show()

# %% [markdown]
# `data_problem` scales the columns, adds an input that is always 1 and turns labels into outputs.
# Every model remembers what was done to the data, and the names of the columns (a data frame would
# bring its own). The test data are held back: fitness is computed on the
# training data alone. Had we not given any, a fifth of the points would have been held back.

# %%
problem = sx.data_problem(
    X_train, y_train, X_test=X_test, y_test=y_test, feature_names=["x", "y"]
)
problem.num_inputs, problem.num_outputs

# %% [markdown]
# ## One run

# %%
run = sx.evolve(problem, method="neat", population=150, generations=30, seed=0)
run

# %% [markdown]
# The last lines are measures: `accuracy` is the share of training points that are answered
# correctly, `test_accuracy` that of the test points. The best network is a model that takes points
# as they are and answers with your labels:

# %%
run.best.predict([[0.0, 1.0], [1.0, -0.5]]), run.best.classes

# %% [markdown]
# ## Several methods, several seeds
#
# One run says little about a method: another seed may be lucky. `evolve_seeds` repeats a run.
#
# - `neat` evolves the network itself.
# - `hyperneat` has a layer of hidden neurons in fixed places, and evolves the pattern of weights.
# - `es` and `emr` find out where neurons should be.

# %%
METHODS = {
    "neat": {},
    "hyperneat": {"hidden_layers": ["6"]},
    "es": {"depth": 2},
    "emr": {"depth": 3},
}
SETTINGS = {"population": 150, "generations": 20, "seeds": 3, "progress": False}

results = {
    method: sx.evolve_seeds(problem, method=method, **SETTINGS, **options)
    for method, options in METHODS.items()
}

# %%
print("method     train  test   (each seed)            hidden  seconds")
for method, runs in results.items():
    train = np.median([run.measures()["accuracy"] for run in runs])
    test = [run.measures()["test_accuracy"] for run in runs]
    hidden = np.median([run.best.describe().num_hidden for run in runs])
    seconds = np.median([run.seconds for run in runs])
    print(
        f"{method:10} {train:.3f}  {np.median(test):.3f}  "
        f"({', '.join(f'{value:.3f}' for value in test)})  "
        f"{hidden:6.0f}  {seconds:7.1f}"
    )

# %% [markdown]
# Three seeds are enough to see whether something works at all, and not enough to call one method
# better than another; [`substrax.sweeps`](../api/sweeps.md) has the tests for that.
#
# What did each of them learn? The colour is the network's answer, the points are those of the test.

# %%
x, y = np.meshgrid(np.linspace(-1.7, 2.7, 120), np.linspace(-1.3, 1.8, 100))
points = np.column_stack([x.ravel(), y.ravel()])
figure, panels = plt.subplots(2, 2, figsize=(8, 6), sharex=True, sharey=True)
for axes, (method, runs) in zip(panels.flat, results.items(), strict=True):
    answers = runs.best(points)[:, 0].reshape(x.shape)
    axes.contourf(x, y, answers, np.linspace(0, 1, 11), cmap="PuOr", alpha=0.6)
    axes.contour(x, y, answers, levels=[0.5], colors="black", linewidths=1)
    scatter(axes, X_test, y_test)
    axes.set_title(method)
plt.show()

# %% [markdown]
# And the curves of all runs:

# %%
figure, axes = plt.subplots(figsize=(6, 3.2))
for number, (method, runs) in enumerate(results.items()):
    for run in runs:
        curve = [record.best_ever for record in run.history]
        axes.plot(curve, f"C{number}", label=method if run is runs[0] else None)
axes.set(xlabel="generation", ylabel="best fitness so far")
axes.legend()
plt.show()

# %% [markdown]
# ## Keep the winner
#
# With a directory, a run can be reported on. The report is a page that needs nothing but a browser;
# its part "Data" has the confusion matrix of the test.

# %%
folder = Path(tempfile.mkdtemp())
final = sx.evolve(
    problem,
    method="neat",
    population=150,
    generations=20,
    seed=1,
    directory=folder / "moons",
)
page = final.report()
final.best.save(folder / "moons.safetensors")
print(page.relative_to(folder), page.stat().st_size // 1024, "KiB")

# %% [markdown]
# The file knows how to scale new points, which labels there are, and what the columns are called,
# so that those of a data frame may come in any order:

# %%
model = sx.load(folder / "moons.safetensors")
model.predict(X_test[:5]), y_test[:5], model.feature_names

# %% [markdown]
# If your data are in a CSV file, the command line is enough: `substrax run table --path data.csv
# --target-column label`. More on [your data](../your-data.md) and on [reports](../report.md).
