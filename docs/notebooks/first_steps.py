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
# # First steps
#
# We evolve a network for XOR, look at what was found and how, and keep it for later. XOR is tiny:
# the answer to two bits is 1 if they differ. That makes it easy to see every part of the machine
# at work.

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import substrax as sx
from substrax.report import plot_fields, plot_genome, plot_growth, plot_species

# %% [markdown]
# ## Evolve
#
# One call does it. `"xor"` is one of the experiments that come with the package (`substrax list`
# names them all), and every setting can be given by name. The method is EMR-HyperNEAT: evolution
# works on small networks, CPPNs, each of which paints the connections of a larger one.

# %%
run = sx.evolve("xor", population=150, depth=4, connections="feedforward", seed=2)
run

# %% [markdown]
# The curve is the fitness over the generations, one minus the mean squared error. The other picture
# is the network that was discovered: three inputs below (XOR has a third one here that is always
# 1), one output above, and hidden neurons in places that nobody chose.
#
# `run.best` is that network as a function. Ask it all four questions at once:

# %%
questions = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
for question, answer in zip(questions, run.best(questions)[:, 0], strict=True):
    print(question, f"{answer:.3f}")

# %% [markdown]
# Between the corners it can say what it likes. This is what it does say:

# %%
side = np.linspace(-0.25, 1.25, 80)
a, b = np.meshgrid(side, side)
answers = run.best(np.column_stack([a.ravel(), b.ravel()])).reshape(a.shape)
figure, axes = plt.subplots(figsize=(4, 3.4))
image = axes.pcolormesh(a, b, answers, cmap="RdBu_r", vmin=0, vmax=1)
axes.plot(*questions.T, "o", mfc="white", mec="black")
for first, second in questions:
    axes.annotate(f" {first ^ second}", (first, second), color="white", size=12)
axes.set(xlabel="first bit", ylabel="second bit", aspect="equal")
figure.colorbar(image, label="answer")
plt.show()

# %% [markdown]
# ## From a CPPN to a network
#
# What evolved is not this network but the CPPN behind it. It is asked about a link from
# `(x1, y1)` to `(x2, y2)` and answers with the link's weight. Here are its nodes, with their
# activation functions and biases:

# %%
plot_genome(run)

# %% [markdown]
# And this is the pattern it paints: for each input (the cross) the weights of links to every place
# in the plane, and for the output the weights of links from every place. Neurons are put where such
# a pattern changes, because that is where there is something to tell.

# %%
plot_fields(run)

# %% [markdown]
# ## How it went
#
# `run.history` has a record for each generation, with everything that was measured.

# %%
for record in run.history[:5]:
    print(
        f"generation {record.generation}: best {record.best_fitness:.3f}, "
        f"mean {record.mean_fitness:.3f}, {record.num_species} species, "
        f"{record.mean_hidden:.1f} hidden neurons on average"
    )

# %% [markdown]
# NEAT keeps similar genomes together in species, so that a new idea competes with its own kind
# first. The sizes of species over time:

# %%
plot_species(run)

# %%
plot_growth(run)

# %% [markdown]
# The same seed gives the same run, bit for bit. Another seed gives another network:

# %%
other = sx.evolve("xor", population=150, depth=4, connections="feedforward", seed=3)
other

# %% [markdown]
# ## Save and load
#
# A model is saved as one file, without pickle. It needs nothing but substrax to be used again.

# %%
folder = Path(tempfile.mkdtemp())
run.best.save(folder / "xor.safetensors")
model = sx.load(folder / "xor.safetensors")
print(model)
print(model([1, 0]))

# %% [markdown]
# A run can be saved as a whole, too: give it a directory. It then survives a crash (`sx.resume`
# continues it) and can have a report, which is one page of HTML with all the pictures.

# %%
saved = sx.evolve(
    "xor", population=150, depth=4, target=2, generations=5, directory=folder / "run"
)
print(saved.report().relative_to(folder))
print(*sorted(path.name for path in (folder / "run").iterdir()), sep="\n")

# %%
longer = sx.resume(folder / "run", generations=8)
print(len(longer.history), longer.best_fitness)

# %% [markdown]
# Where to go from here: [your own data](own_data.md), [your own
# environment](own_environment.md), or [all that a run can be told](../running.md).
