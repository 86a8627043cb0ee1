"""Cart-pole without seeing velocities: a recurrent substrate with a memory.

The network sees where the cart is and how the pole leans, not how fast they change; it
has to remember what it saw. The substrate has links that run backwards, and the state
of its nodes is carried from one step of the cart to the next. Run it with
`python examples/recurrent_cartpole.py`.
"""

import substrax as sx


def upright(generation: sx.Generation) -> None:
    """A callback: called after each generation. The fitness is a share of 500 steps."""
    best = generation.record.best_fitness or 0.0
    print(f"generation {generation.number:3d}: upright for {500 * best:5.1f} steps")


def main(**settings) -> sx.Run:
    defaults = {"connections": "backward", "has_velocities": False, "generations": 60}
    run = sx.evolve("cartpole", callbacks=[upright], **(defaults | settings))
    print(run)
    links = run.best.describe().links
    print(f"{links['backward']} of its links run backwards")
    return run


if __name__ == "__main__":
    main()
