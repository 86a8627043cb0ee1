"""XOR with EMR-HyperNEAT: what `make demo` does, from Python.

A CPPN paints the weights of links over a plane; where its pattern varies, hidden nodes
appear. Run it with `python examples/xor.py`.
"""

import substrax as sx


def main(**settings) -> sx.Run:
    run = sx.evolve("xor", progress=True, **settings)
    print(run)
    for row, answer in zip(
        [[0, 0], [0, 1], [1, 0], [1, 1]],
        run.best([[0, 0], [0, 1], [1, 0], [1, 1]])[:, 0],
        strict=True,
    ):
        print(f"{row[0]} xor {row[1]}: {answer:.3f}")
    return run


if __name__ == "__main__":
    main()
