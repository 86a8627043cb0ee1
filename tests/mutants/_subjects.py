"""What faults are put into, and the tests that should notice."""

from typing import NamedTuple


class Subject(NamedTuple):
    """A module, and the tests of it: those that know it best, then all the others."""

    part: str
    module: str
    tests: tuple[str, ...]
    others: tuple[str, ...] = ()
    is_logic: bool = False
    """Tests that are as good with less optimisation by the compiler."""


# Not those of memory and cores, which take minutes and ask about neither.
OF_RULES = tuple(
    f"tests/{name}.py"
    for name in (
        "substrate/test_vectors", "substrate/test_superset", "substrate/test_layout",
        "substrate/test_connections", "substrate/test_es_pruning",
        "substrate/test_recover", "decoders/test_discovered",
        "decoders/test_conformance", "decoders/test_outputs", "golden/test_golden",
    )
)  # fmt: skip


def _rules() -> list[Subject]:
    tests = {
        "_emr": ("test_settings", "test_strategies", "test_oracle"),
        "_es": ("test_settings", "test_strategies", "test_oracle"),
        "_connections": ("test_connections", "test_strategies", "test_oracle"),
        "_cells": ("test_cells", "test_vectors"),
        "_activity": ("test_activity",),
        "_weights": ("test_settings", "test_strategies", "test_oracle"),
        "_layout": ("test_layout", "test_strategies", "test_oracle"),
        "_recover": ("test_recover", "test_strategies", "test_oracle"),
    }
    return [
        Subject(
            "rules",
            f"substrate/{module}.py",
            tuple(f"tests/substrate/{name}.py" for name in names),
            OF_RULES,
        )
        for module, names in tests.items()
    ]


def _traced() -> list[Subject]:
    modules = ("_rules", "_field", "_discover", "_wiring", "_grid", "_lists")
    return [
        Subject(
            "rules for devices",
            f"tensor/{module}.py",
            ("tests/tensor/test_oracle.py", "tests/tensor/test_decoders.py"),
            ("tests/tensor", "tests/decoders/test_on_device.py"),
            is_logic=True,
        )
        for module in modules
    ]


def _operators() -> list[Subject]:
    tests = {
        "_mutation": ("test_mutation", "test_gene_mutation"),
        "_structure": ("test_mutation", "test_invariants"),
        "_attributes": ("test_gene_mutation", "test_draws", "test_mutation"),
        "_draws": ("test_draws",),
        "_growth": ("test_mutation", "test_neat"),
        "_crossover": ("test_crossover",),
        "_reproduction": ("test_reproduction", "test_species_rules"),
        "_speciation": ("test_speciation", "test_species_rules"),
        "_distance": ("test_distance",),
        "_initial": ("test_neat", "test_start"),
        "_counting": ("test_counting",),
        "_random": ("test_random",),
    }
    return [
        Subject(
            "NEAT's operators",
            f"neat/{module}.py",
            tuple(f"tests/neat/{name}.py" for name in names),
            ("tests/neat",),
            is_logic=True,
        )
        for module, names in tests.items()
    ]


def _checkpoints() -> list[Subject]:
    modules = (
        "evolution/_checkpoint", "evolution/_directory", "runs/_metrics",
        "runs/_seal", "evolution/_best", "evolution/_identity",
        "evolution/_checks", "evolution/_lock", "_files",
    )  # fmt: skip
    return [
        Subject(
            "checkpoints",
            f"{module}.py",
            tuple(
                f"tests/evolution/test_{name}.py"
                for name in ("trust", "directory", "callbacks")
            ),
            ("tests/evolution", "tests/test_cli_run.py", "tests/report/test_write.py"),
            is_logic=True,
        )
        for module in modules
    ]


SUBJECTS = [
    *_rules(),
    *_traced(),
    *_operators(),
    *_checkpoints(),
    Subject(
        "cache of networks",
        "decoders/_cache.py",
        ("tests/decoders/test_cache.py", "tests/evolution/test_loop.py"),
        is_logic=True,
    ),
    *(
        Subject(
            "HTML of the report",
            f"report/{module}.py",
            ("tests/report/test_html.py", "tests/report/test_write.py"),
            ("tests/report/test_browser.py",),
            is_logic=True,
        )
        for module in ("_html", "_page")
    ),
    *(
        Subject(
            "checks before the native engine",
            module,
            ("tests/test_native.py", "tests/test_native_fuzz.py"),
            others,
        )
        for module, others in {
            "_native.py": ("tests/cppn", "tests/network"),
            "cppn/_native_programs.py": ("tests/cppn",),
            "network/_check.py": ("tests/network", "tests/evolution/test_trust.py"),
        }.items()
    ),
]
