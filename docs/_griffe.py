"""What mkdocstrings does not see by itself in the sources of this project."""

import ast
from typing import Any

from griffe import (
    Alias,
    Class,
    Extension,
    Function,
    Parameter,
    ParameterKind,
    Parameters,
)


def default_of(value: ast.expr | None) -> str | None:
    """The default of a field as a text; `eqx.field` and helpers around it hide it."""
    if isinstance(value, ast.Call) and "static" in ast.unparse(value):
        given = [k.value for k in value.keywords if k.arg == "default"] or value.args
        return ast.unparse(given[0]) if given else None
    return None if value is None else ast.unparse(value)


class Substrax(Extension):
    """Public names, and constructors of classes whose fields are their arguments."""

    def on_alias_instance(self, *, node: ast.AST, alias: Alias, **_: Any) -> None:
        """`from ._neat import NEAT as NEAT` makes a name public."""
        if isinstance(node, ast.ImportFrom):
            alias.public = any(alias.name == name.asname for name in node.names)

    def on_class_members(self, *, node: ast.AST, cls: Class, **_: Any) -> None:
        """An `eqx.Module` is a dataclass without the decorator that would tell."""
        if not isinstance(node, ast.ClassDef) or "__init__" in cls.members:
            return
        if "eqx.Module" not in map(ast.unparse, node.bases):
            return
        kind = ParameterKind.positional_or_keyword
        fields = [
            Parameter(
                item.target.id,
                annotation=ast.unparse(item.annotation),
                kind=kind,
                default=default_of(item.value),
            )
            for item in node.body
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
        ]
        init = Function(
            "__init__",
            parameters=Parameters(Parameter("self", kind=kind), *fields),
            parent=cls,
        )
        cls.set_member("__init__", init)
