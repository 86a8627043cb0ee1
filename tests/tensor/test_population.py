"""A population in blocks, on several devices, in several processes: the same bits."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from substrax.neat import NEAT, presets
from substrax.tensor import over_genomes

ROOT = Path(__file__).parents[2]


def genomes(num: int):
    config = presets.substrax(num_inputs=3, num_outputs=1, population_size=num)
    return NEAT(config).init(key=jax.random.key(0)).population


def total(genome, shift):
    return {"sum": jnp.sin(genome.link_weight).sum() + shift, "one": genome.node_id[0]}


@pytest.mark.parametrize("num", [5, 8, 9])
def test_populations_that_do_not_divide_are_filled_up_and_cut_again(num):
    some = genomes(num)
    values = jax.jit(lambda g: over_genomes(total, g, 2.0, block=4))(some)
    assert values["sum"].shape == values["one"].shape == (num,)
    expected = jax.vmap(lambda g: total(g, 2.0))(some)
    np.testing.assert_allclose(values["sum"], expected["sum"], rtol=1e-6)


def test_a_value_does_not_depend_on_the_population_around_it():
    everyone = genomes(11)
    few = jax.tree.map(lambda x: x[3:6], everyone)
    run = jax.jit(lambda g: over_genomes(total, g, 2.0, block=4)["sum"])
    np.testing.assert_array_equal(run(everyone)[3:6], run(few))


def test_blocks_and_meshes_that_cannot_be_are_refused_in_words():
    with pytest.raises(ValueError, match="block is 0"):
        over_genomes(total, genomes(3), 0.0, block=0)
    mesh = jax.sharding.Mesh(np.asarray(jax.devices()[:1]), ("rows",))
    with pytest.raises(ValueError, match=r"axes rows, .* called genomes"):
        over_genomes(total, genomes(3), 0.0, mesh=mesh)


def start(*arguments: str, devices: int = 1) -> subprocess.Popen:
    flags = f"--xla_force_host_platform_device_count={devices}"
    # (what is compared is computed by code that was compiled alike)
    flags = f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()
    return subprocess.Popen(
        [sys.executable, "-m", "tests.tensor.spread", *arguments],
        cwd=ROOT,
        env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answers(process: subprocess.Popen) -> list[str]:
    """Digests that a program printed."""
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return [line.split()[1] for line in out.splitlines() if line[0].isdigit()]


def free_port() -> str:
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return str(some.getsockname()[1])


def in_processes(num: int) -> list[str]:
    port = free_port()
    all_of_them = [
        start("--process", str(k), "--of", str(num), "--port", port) for k in range(num)
    ]
    try:
        return [digest for one in all_of_them for digest in answers(one)]
    finally:
        for one in all_of_them:
            one.kill()


@pytest.mark.slow
def test_devices_and_processes_give_the_same_bits():
    on_devices = answers(start("1", "8", devices=8))
    assert len(on_devices) == 2
    assert len({*on_devices, *in_processes(2)}) == 1


@pytest.mark.slow
def test_four_processes_give_the_same_bits_as_one_and_as_two_devices():
    on_devices = answers(start("1", "2", devices=2))
    assert len({*in_processes(4), *in_processes(1), *on_devices}) == 1
