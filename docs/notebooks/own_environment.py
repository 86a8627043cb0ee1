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
# # Your own environment
#
# A pendulum stands on its head, and a motor at its foot keeps it there. The network that steers the
# motor sees the angle, but not how fast it changes: for that it must remember what it saw before.
# We write the pendulum in JAX, evolve networks with and without a memory, and watch them learn.

# %%
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import substrax as sx
from substrax.network import Stepper

# %% [markdown]
# ## The pendulum
#
# An angle and a speed. Gravity pulls the pendulum over, the motor turns it back, and there is no
# friction. Nothing here is special to substrax; it works on one pendulum or on many at once.

# %%
NUM_PENDULUMS, NUM_STEPS, SECONDS = 16, 150, 0.05


def swing(angle, speed, motor):
    """The state after a twentieth of a second; the motor is between -1 and 1."""
    speed = speed + SECONDS * (5 * jnp.sin(angle) + 8 * motor)
    return angle + SECONDS * speed, speed


# %% [markdown]
# ## The fitness
#
# Sixteen pendulums start at different angles with different speeds, drawn again in each generation.
# `network.step` shows the network what there is to see and returns what it answers, together with
# its memory, which you pass on. `lax.scan` repeats that. The fitness is 1 for a pendulum that is
# upright all the time and 0 for one that hangs down.


# %%
def starts(key):
    """Angles and speeds to begin with."""
    return jax.random.uniform(key, (2, NUM_PENDULUMS), minval=-0.4, maxval=0.4)


def is_upright(angle):
    return jnp.exp(-((4 * angle) ** 2))


def balance(network, key):
    def step(carry, _):
        memory, angle, speed = carry
        seen = jnp.stack([angle, jnp.ones(NUM_PENDULUMS)], axis=1)
        memory, motor = network.step(memory, seen)
        angle, speed = swing(angle, speed, motor[:, 0])
        return (memory, angle, speed), is_upright(angle)

    start = (network.start(NUM_PENDULUMS), *starts(key))
    _, upright = jax.lax.scan(step, start, length=NUM_STEPS)
    return upright.mean()


# %% [markdown]
# You write it for one network. It is compiled once and run for the whole population.
#
# ## Without a memory
#
# The motor is a `tanh`, so that it can turn both ways.

# %%
SETTINGS = {
    "inputs": 2,  # the angle, and a constant 1
    "outputs": 1,
    "method": "neat",
    "population": 150,
    "neat.output_activation": "tanh",
    "neat.mutation.mutate_output_activation": False,
}
forgetful = sx.evolve(balance, generations=12, **SETTINGS)
print(forgetful)

# %% [markdown]
# ## With a memory, watched
#
# `is_recurrent` lets links run in circles, and `steps=1` makes one update for each step of the
# pendulum. A callback is called after each generation, with everything that is known about it. This
# one keeps the best network whenever there is a better one, and ends the run when it is good enough
# on average over three generations: starts are random, so a single good score may be luck.

# %%
improvements, scores = {}, []


def watch(generation):
    if generation.is_improved:
        improvements[generation.number] = generation.best.network
    scores.append(generation.record.best_fitness)
    return np.mean(scores[-3:]) > 0.975


run = sx.evolve(
    balance, generations=25, is_recurrent=True, steps=1, callbacks=[watch], **SETTINGS
)
run

# %% [markdown]
# ## Watch it balance
#
# Outside of a fitness, a `Stepper` moves networks through an environment step by step.


# %%
def record(network, key):
    """The angles of all pendulums over time, (steps, pendulums)."""
    stepper = Stepper.of(network)
    memory, (angle, speed) = stepper.start(NUM_PENDULUMS), starts(key)
    angles = [angle]
    for _ in range(NUM_STEPS):
        seen = np.stack([angle, np.ones(NUM_PENDULUMS)], axis=1)
        memory, motor = stepper(memory, seen[None].astype(np.float32))
        angle, speed = swing(angle, speed, motor[0, :, 0])
        angles.append(angle)
    return np.array(angles)


key = jax.random.key(123)  # starts that neither of them has seen
time = np.arange(NUM_STEPS + 1) * SECONDS
networks = {
    "without a memory": forgetful.best.network,
    "with a memory": run.best.network,
}
figure, panels = plt.subplots(1, 2, figsize=(9, 3), sharey=True)
for axes, (title, network) in zip(panels, networks.items(), strict=True):
    axes.plot(time, np.degrees(record(network, key)), lw=0.8)
    axes.set(title=title, xlabel="seconds", ylim=(-45, 45))
panels[0].set_ylabel("angle in degrees")
plt.show()

# %% [markdown]
# A network that only sees the angle pushes back too late, and the pendulum swings forever. One that
# remembers can tell where the pendulum is going, and stops it.
#
# ## How it learned
#
# The callback kept the networks on the way. Here are some of them with the same starts:

# %%
numbers = sorted(improvements)
chosen = [numbers[k] for k in np.linspace(0, len(numbers) - 1, 4).astype(int)]
figure, panels = plt.subplots(1, 4, figsize=(11, 2.6), sharey=True)
for axes, number in zip(panels, chosen, strict=True):
    axes.plot(time, np.degrees(record(improvements[number], key)), lw=0.7)
    axes.set(title=f"generation {number}", xlabel="seconds", ylim=(-45, 45))
panels[0].set_ylabel("angle in degrees")
plt.show()

# %% [markdown]
# ## On a hundred new starts
#
# The best score of a run is also its luckiest. New starts tell how good the network is:

# %%
for title, network in networks.items():
    angles = np.concatenate(
        [record(network, jax.random.key(1000 + number)) for number in range(7)], axis=1
    )
    is_still = np.abs(angles[-20:]).max(axis=0) < np.radians(5)
    print(f"{title}: {is_still.sum()} of {is_still.size} stand still in the end")

# %% [markdown]
# Simulators that JAX cannot trace are a [`HostProblem`](../your-simulator.md):
# there you step all networks yourself, as above. For logging a run while it goes, see [Following a
# run](../tracking.md).
