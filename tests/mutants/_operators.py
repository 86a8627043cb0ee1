"""What is done to a module: cosmic-ray's operators, some of them, and two more."""

# pyright: reportMissingImports=false, reportIncompatibleMethodOverride=false
# pyright: reportGeneralTypeIssues=false
# cosmic-ray is installed by `make mutants` alone

import ast
import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator

# Of the replacements of one operator by another, those that people mistake.
_BINARY = (
    "Add_Sub Sub_Add Mul_Add Mul_Div Div_Mul FloorDiv_Mul Mod_Mul BitOr_BitAnd "
    "BitAnd_BitOr BitXor_BitOr LShift_RShift RShift_LShift"
)
_COMPARISON = (
    "Lt_LtE Lt_GtE LtE_Lt LtE_Gt Gt_GtE Gt_LtE GtE_Gt GtE_Lt Eq_NotEq NotEq_Eq "
    "Is_IsNot IsNot_Is"
)
_OTHERS = (
    "ReplaceUnaryOperator_Delete_Not ReplaceUnaryOperator_Delete_Invert "
    "ReplaceUnaryOperator_Delete_USub AddNot ReplaceTrueWithFalse "
    "ReplaceFalseWithTrue ReplaceAndWithOr ReplaceOrWithAnd ReplaceBreakWithContinue "
    "ReplaceContinueWithBreak ExceptionReplacer NumberReplacer ZeroIterationForLoop"
)
NAMES = (
    *(f"core/ReplaceBinaryOperator_{name}" for name in _BINARY.split()),
    *(f"core/ReplaceComparisonOperator_{name}" for name in _COMPARISON.split()),
    *(f"core/{name}" for name in _OTHERS.split()),
)

Position = tuple[tuple[int, int], tuple[int, int]]

_ARGUMENTS = ("parameters", "param", "typedargslist", "argument")
"""Where a star is no product."""


class _CallRemoved(Operator):
    """`f(x)` becomes `x`."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        if self._argument(node) is not None:
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        argument = self._argument(node)
        argument.get_first_leaf().prefix = node.get_first_leaf().prefix
        return argument

    @staticmethod
    def _argument(node: Any) -> Any:
        """The only argument of a call by name."""
        if node.type not in ("atom_expr", "power"):
            return None
        last = node.children[-1]
        is_call = last.type == "trailer" and last.children[0].value == "("
        if not is_call or len(last.children) != 3:
            return None
        argument = last.children[1]
        return None if argument.type in ("arglist", "argument") else argument

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


class _StatementRemoved(Operator):
    """A statement that calls something, or changes a value in place, is left out."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        if self._is_statement(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        nothing = get_ast("pass").children[0]
        nothing.prefix = node.get_first_leaf().prefix
        return nothing

    @staticmethod
    def _is_statement(node: Any) -> bool:
        if node.parent is None or node.parent.type != "simple_stmt":
            return False
        if node.type == "expr_stmt":
            sign = node.children[1]
            return getattr(sign, "type", "") == "operator" and sign.value != "="
        last = getattr(node, "children", [node])[-1]
        return node.type in ("atom_expr", "power") and last.type == "trailer"

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


class Mutant(NamedTuple):
    """A fault: its lines before and after, and the module with it."""

    before: str
    after: str
    number: int
    """How often lines like these come before."""
    line: int
    code: str

    @property
    def name(self) -> str:
        """Known again where lines above it have changed."""
        again = f" (again: {self.number})" if self.number else ""
        return f"{self.before} => {self.after}{again}"


def draw_mutants(source: str, num: int, seed: str) -> list[Mutant]:
    """Some mutants of a module, none at the same place as another.

    Which ones depends on their lines and the seed alone, so that a change elsewhere in
    the module leaves the others as they are.
    """
    lines = source.splitlines()

    def drawn(*what: object) -> str:
        return hashlib.sha256(repr((seed, *what)).encode()).hexdigest()

    def order(place: Position) -> str:
        return drawn(lines[place[0][0] - 1], place[0][1], place[1][1])

    mutants: dict[str, Mutant] = {}
    places = _places(source)
    for place in sorted(places, key=order):
        faults = sorted(places[place], key=lambda f: drawn(type(f[0]).__name__))
        mutant = _made(source, *faults[0], place[0][0])
        if mutant is not None:
            mutants.setdefault(mutant.name, mutant)
        if len(mutants) == num:
            break
    return list(mutants.values())


def _places(source: str) -> dict[Position, list[tuple[Operator, int]]]:
    """All that can be done, by where: the operator, and how often it comes before."""
    operators: list[Operator] = [get_operator(name)() for name in NAMES]
    operators += [_CallRemoved(), _StatementRemoved()]
    spared = _spared(source)
    found: dict[Position, list[tuple[Operator, int]]] = {}
    tree = get_ast(source)
    for operator in operators:
        number = 0
        for node in ast_nodes(tree):
            for position in operator.mutation_positions(node):
                parent = node.parent.type if node.parent else ""
                is_star = node.type == "operator" and parent in _ARGUMENTS
                if not is_star and not any(
                    a <= position[0] and position[1] <= b for a, b in spared
                ):
                    found.setdefault(position, []).append((operator, number))
                number += 1
    return found


def _spared(source: str) -> list[Position]:
    """Where no fault means anything: types, decorators, and the text of errors."""
    spared: list[ast.AST] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            spared.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            spared += node.decorator_list
            if isinstance(node, ast.FunctionDef) and node.returns:
                spared.append(node.returns)
        elif isinstance(node, ast.Raise | ast.JoinedStr) or (
            isinstance(node, ast.Assign) and _is_type(node.value)
        ):
            spared.append(node)
        elif isinstance(node, ast.Call) and _called(node) in ("isinstance", "cast"):
            spared.append(node.args[-1])
    return [
        ((n.lineno, n.col_offset), (n.end_lineno, n.end_col_offset))  # type: ignore[attr-defined]
        for n in spared
    ]


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _is_type(value: ast.AST) -> bool:
    """`A | B` of names that begin like types."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr):
        return _is_type(value.left) and _is_type(value.right)
    if isinstance(value, ast.Subscript):
        return _is_type(value.value)
    return isinstance(value, ast.Name) and (
        value.id[0].isupper()
        or value.id in ("bytes", "memoryview", "str", "int", "float")
    )


def _made(source: str, operator: Operator, number: int, line: int) -> Mutant | None:
    code = mutate_code(source, operator, number)
    if code is None or code == source:
        return None
    try:
        compile(code, "mutant", "exec")
    except SyntaxError:
        return None
    before, after, start = _difference(source, code)
    above = [line.strip() for line in source.splitlines()[:start]]
    return Mutant(before, after, above.count(before), line, code)


def _difference(source: str, code: str) -> tuple[str, str, int]:
    """The lines that differ, without their indentation, and where they begin."""
    old, new = source.splitlines(), code.splitlines()
    start = 0
    while old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    parts = (lines[start : len(lines) - end] for lines in (old, new))
    before, after = (" ".join(line.strip() for line in part) for part in parts)
    return before, after, start
