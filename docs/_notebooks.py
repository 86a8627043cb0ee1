"""Notebooks as pages: scripts in `notebooks/` are executed when the site is built.

A script is a notebook in jupytext's percent format; its page has its outputs, and a
link to it as a notebook. What was executed is kept in `.cache/notebooks` for as long as
neither the script nor the package changes.
"""

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
CACHE = ROOT / ".cache" / "notebooks"
SOURCES = ("src/substrax/**/*.py", "src/native/*")
SECONDS = 600
"""A cell that takes longer has hung."""


def digest(script: Path) -> str:
    """Of all that the outputs of a notebook depend on."""
    files = sorted(path for pattern in SOURCES for path in ROOT.glob(pattern))
    hashed = hashlib.sha256()
    for path in (script, Path(__file__), *files):
        hashed.update(path.read_bytes())
    return hashed.hexdigest()[:16]


def executed(script: Path) -> Any:
    """The notebook with its outputs."""
    import jupytext
    import nbformat
    from nbclient import NotebookClient

    kept = CACHE / f"{script.stem}-{digest(script)}.ipynb"
    if not kept.exists():
        notebook = jupytext.read(script)
        with tempfile.TemporaryDirectory() as folder:
            place = {"metadata": {"path": folder}}
            client = NotebookClient(notebook, timeout=SECONDS, resources=place)
            client.coalesce_streams = True
            client.extra_arguments = ["--IPKernelApp.log_level=40"]
            client.execute()
        CACHE.mkdir(parents=True, exist_ok=True)
        for old in CACHE.glob(f"{script.stem}-*.ipynb"):
            old.unlink()
        nbformat.write(notebook, kept)
    return nbformat.read(kept, as_version=4)


def on_files(files: Files, config: Any) -> Files:
    """Adds a page, its pictures and the notebook for each script."""
    from nbconvert import MarkdownExporter

    for script in sorted((ROOT / "docs" / "notebooks").glob("*.py")):
        notebook, name = executed(script), f"notebooks/{script.stem}"
        resources = {"output_files_dir": f"{script.stem}_files"}
        text, found = MarkdownExporter().from_notebook_node(notebook, resources)
        heading, _, rest = text.lstrip().partition("\n")
        link = f"[This page as a notebook]({script.stem}.ipynb)"
        page = f"{heading}\n\n{link}\n{rest}"
        contents = {f"{name}.md": page, f"{name}.ipynb": json.dumps(notebook)}
        contents |= {f"notebooks/{key}": data for key, data in found["outputs"].items()}
        for uri, content in contents.items():
            files.append(File.generated(config, uri, content=content))
    return files
