"""The page: what is said about a run, and in which order."""

from pathlib import Path
from typing import Any

from .._types import counted
from ..cppn import ACTIVATION_NAMES
from ..decoders import Direct, Discovered
from ..evolution import GenerationRecord, diagnose
from ..neat import Genome
from ..network import Description, describe
from ._data import data_section
from ._figures import Pictures
from ._html import (
    card,
    code,
    columns,
    escape,
    facts,
    folded,
    note,
    numbers,
    page,
    pairs,
    paragraph,
    picture,
)
from ._run import Run
from ._subject import terminal_names

_KEY_SETTINGS = (
    "problem.name",
    "method.name",
    "method.depth",
    "method.connections",
    "neat.preset",
    "neat.population_size",
    "start.genome",
    "start.origin",
    "run.generations",
    "run.seed",
)


def make_page(run: Run, shown: Pictures, folder: Path) -> str:
    """The document for a run and its pictures, to be put into a folder."""
    description = None if run.best is None else describe(run.best.network)
    sections = [
        ("overview", "Overview", _overview(run, description, shown)),
        ("data", "Data", data_section(run, _some(shown, "data"))),
        ("evolution", "Evolution", _evolution(run, shown)),
        ("cppn", _genome_label(run), _genome(run, description, shown)),
        ("grid", "Grid", _grid(shown)),
        ("network", "Network", _network(run, description, shown)),
        ("run", "Run", _reproduce(run, folder)),
    ]
    return page(
        title=f"substrax: {run.name}",
        header=_header(run),
        sections=[section for section in sections if section[2]],
    )


def _some(shown: Pictures, part: str) -> list[str]:
    return [picture(item, files) for item, files in shown if item.part == part]


def _header(run: Run) -> str:
    verdicts = {True: ("solved", "good"), False: ("not solved", "bad"), None: ("", "")}
    word, kind = verdicts[run.is_solved]
    decoder = "" if run.decoder is None else f" with {_decoder_name(run)}"
    verdict = f' <span class="verdict {kind}">{escape(word)}</span>:' if word else ""
    return (
        f"<h1>{escape(run.name)}{escape(decoder)}</h1>"
        f'<p class="lead">{verdict} {_generations(run)}; {escape(run.reason)}.</p>'
    )


def _generations(run: Run) -> str:
    return counted(run.generations, "generation")


def _decoder_name(run: Run) -> str:
    decoder = run.decoder
    if isinstance(decoder, Direct):
        return "NEAT"
    if isinstance(decoder, Discovered):
        return decoder.rule.title
    return type(decoder).__name__


def _overview(run: Run, description: Description | None, shown: Pictures) -> str:
    compiling = f"{run.compile_seconds:.1f} s of it compiling"
    seconds = compiling if run.compile_seconds >= 0.05 else ""
    boxes = [
        ("Generations", str(run.generations), run.reason),
        ("Time", f"{run.seconds:.1f} s", seconds),
        ("Seed", str(run.facts.get("seed", "unknown")), ""),
    ]
    parts = []
    if run.trouble is not None:
        parts.append(note("Damaged:", f"{run.trouble}."))
    if run.best is None or description is None:
        text = "no evaluation succeeded, so there is no best network to show."
        parts.append(note("Nothing found:", text))
    else:
        target = "" if run.target is None else f"target {run.target:g}, "
        found = f"{target}found in generation {run.best.generation}"
        boxes = [
            ("Best fitness", f"{run.best.fitness:z.6g}", found),
            ("Hidden nodes", str(description.num_hidden), ""),
            ("Links", str(description.num_links), _depth(description)),
            *boxes,
        ]
    if not run.is_solved:
        history = [GenerationRecord.from_dict(line) for line in run.metrics]
        found = diagnose(history, run.method)
        parts += [note("Why the search is stuck:", sentence) for sentence in found]
    cards = _some(shown, "overview")
    if description is not None:
        if description.diagnosis and not run.is_solved:
            parts.append(note("Why this network does little:", description.diagnosis))
        cards.append(_result(run, description))
    return facts(boxes) + "".join(parts) + columns(cards)


def _depth(description: Description) -> str:
    if description.depth is None:
        return "recurrent"
    return f"{description.depth} links deep"


def _result(run: Run, description: Description) -> str:
    content = "".join(paragraph(line) for line in str(description).splitlines()[:2])
    table = run.truth_table()
    if table is not None:
        names = run.preparation.output_names(table.targets.shape[1])
        suffixes = [""] if len(names) == 1 else [f" {name}" for name in names]
        content += numbers(
            [
                *run.preparation.input_names(table.inputs.shape[1]),
                *(f"wanted{suffix}" for suffix in suffixes),
                *(f"output{suffix}" for suffix in suffixes),
            ],
            [
                [
                    *(f"{v:g}" for v in row),
                    *(f"{v:g}" for v in wanted),
                    *(f"{v:.4f}" for v in got),
                ]
                for row, wanted, got in zip(
                    table.inputs, table.targets, table.outputs, strict=True
                )
            ],
            "What the best network answers",
        )
    measures = run.measures()
    if measures:
        rows = [(k.replace("_", " "), f"{v:z.6g}") for k, v in measures.items()]
        content += pairs(rows, "Measures of the best network")
    return card("The best network", content)


def _evolution(run: Run, shown: Pictures) -> str:
    failed = sum(int(line.get("num_failed") or 0) for line in run.metrics)
    parts = []
    if failed:
        text = f"{failed} fitness values were not finite and counted as failed."
        parts.append(note("Failed evaluations:", text))
    first, last = run.metrics[0], run.metrics[-1]
    population = sum(s["size"] for s in first.get("species_size") or ())
    steady = (run.seconds - run.compile_seconds) / len(run.metrics)
    rows: list[tuple[str, object]] = [
        ("generations", run.generations),
        ("population", population or "unknown"),
        ("networks evaluated", _evaluated(population * run.generations)),
        ("of these from the cache", _known(run, population)),
        ("seconds", f"{run.seconds:.2f}, compiling {run.compile_seconds:.2f}"),
        ("seconds per generation", f"{steady:.3f} without compiling"),
        ("mean fitness", f"{_change(first, last, 'mean_fitness')}"),
        ("species", f"{_change(first, last, 'num_species')}"),
        ("compatibility threshold", f"{_change(first, last, 'threshold')}"),
        ("mean nodes per genome", f"{_change(first, last, 'mean_genome_nodes')}"),
        ("mean links per genome", f"{_change(first, last, 'mean_genome_links')}"),
    ]
    # (or nodes and links, if no generation says which species it had)
    species, *others = _some(shown, "evolution")
    return "".join(parts) + columns([species, card("In numbers", pairs(rows)), *others])


def _evaluated(num: int) -> str:
    return f"{num:,}" if num else "unknown"


def _known(run: Run, population: int) -> str:
    """How many networks did not have to be built, in all."""
    share = run.num_cached / max(1, population * len(run.metrics))
    return f"{run.num_cached:,} ({share:.0%}), not built again"


def _change(first: dict[str, Any], last: dict[str, Any], name: str) -> str:
    """A number at the beginning and at the end."""
    begin, end = first.get(name), last.get(name)
    if begin is None or end is None:
        return "unknown"
    return f"{begin:z.4g} at first, {end:z.4g} at last"


def _genome_label(run: Run) -> str:
    return "Network" if isinstance(run.decoder, Direct) else "CPPN"


def _genome(run: Run, description: Description | None, shown: Pictures) -> str:
    if run.best is None or description is None:
        return ""
    if run.decoder is None:
        return note(
            "Not shown:",
            "this run was started from Python and does not say how genomes are read. "
            "Give write_report the decoder to see them.",
        )
    graph, *others = _some(shown, "cppn")
    num_inputs = run.decoder.num_genome_inputs
    if isinstance(run.decoder, Direct):  # in full, as there is room for it
        inputs = run.preparation.input_names(num_inputs)
        outputs = run.preparation.output_names(run.decoder.num_outputs)
    else:
        inputs, outputs = terminal_names(run.decoder)
    names = [*inputs, *outputs]
    genes = card("Genes", _genes(run.best.genome, names, num_inputs))
    # For plain NEAT this is the network, so this is where its flaws are told.
    intro = _words(description) if isinstance(run.decoder, Direct) else ""
    return intro + columns([graph, genes, *others])


def _genes(genome: Genome, names: list[str], num_inputs: int) -> str:
    """Nodes and links of a genome as tables; long ones are folded."""
    name = lambda i: names[i] if i < len(names) else f"hidden {i}"
    nodes = [
        (name(int(i)), ACTIVATION_NAMES[int(a)], f"{float(b):.4f}")
        for i, a, b, there in zip(
            genome.node_id,
            genome.node_activation,
            genome.node_bias,
            genome.node_mask,
            strict=True,
        )
        if there and int(i) >= num_inputs
    ]
    links = [
        (name(int(s)), name(int(t)), f"{float(w):.4f}", "yes" if on else "no")
        for s, t, w, on, there in zip(
            genome.link_source,
            genome.link_target,
            genome.link_weight,
            genome.link_enabled,
            genome.link_mask,
            strict=True,
        )
        if there
    ]
    tables = (
        (
            f"{len(nodes)} {'node' if len(nodes) == 1 else 'nodes'} besides the inputs",
            ("node", "activation", "bias"),
            nodes,
        ),
        (f"{len(links)} links", ("from", "to", "weight", "enabled"), links),
    )
    return "".join(
        f"<details{' open' if len(rows) <= 10 else ''}><summary>{title}</summary>"
        f"{numbers(head, rows, '', num_texts=2)}</details>"
        for title, head, rows in tables
    )


def _grid(shown: Pictures) -> str:
    """Nothing for a decoder that discovers nothing."""
    parts = _some(shown, "grid")
    return columns(parts) if parts else ""


def _network(run: Run, description: Description | None, shown: Pictures) -> str:
    if description is None or isinstance(run.decoder, Direct):
        return ""
    parts = _some(shown, "network")
    if not parts:
        text = "The nodes of this network have no positions, so it is not drawn."
        parts = [paragraph(text)]
    return _words(description) + columns(parts)


def _words(description: Description) -> str:
    """A network in words, and its diagnosis if it has one."""
    text = paragraph("; ".join(str(description).splitlines()[:2]) + ".")
    if description.diagnosis:
        text += note("Why this network does little:", description.diagnosis)
    return text


def _reproduce(run: Run, folder: Path) -> str:
    device = run.facts.get("device", {})
    host = run.facts.get("host", {})
    rows: list[tuple[str, object]] = []
    if run.experiment is not None:
        settings = run.experiment.values
        rows += [(k, settings[k]) for k in _KEY_SETTINGS if settings.get(k, "") != ""]
    else:
        rows.append(("seed", run.facts.get("seed", "unknown")))
    if "started" in run.facts:
        rows.append(("started", run.facts["started"]))
    if "engine" in run.facts:
        rows.append(("engine", run.facts["engine"]))
    rows += [
        ("device", f"{device.get('count', '?')} x {device.get('kind', 'unknown')}"),
        (
            "host",
            f"{host.get('system', '')} {host.get('machine', '')}, "
            f"{host.get('cores', '?')} cores",
        ),
        ("stopped because", run.reason),
    ]
    cards = [card("This run", pairs(rows))]
    versions = run.facts.get("versions", {})
    if versions:
        cards.append(card("Versions", pairs(versions.items())))
    return columns(cards) + card("Run it again", _again(run) + _files(run, folder))


def _again(run: Run) -> str:
    if run.is_repeatable:
        where = "In the directory of this run."
        if run.path is None:
            where = "This run was not saved: save its settings, below, as config.toml."
        text = paragraph(
            f"{where} The configuration holds the seed; with the same versions on the "
            "same kind of device, every number comes out the same."
        ) + code("substrax run config.toml --out again\nsubstrax report again")
    else:
        text = paragraph(
            "This run was started from Python: call evolve() again with this seed."
        )
    if run.config_text:
        text += folded("config.toml: all settings", code(run.config_text))
    return text


def _files(run: Run, folder: Path) -> str:
    """Links to the files of the run, where the page lies in its directory."""
    path = run.path
    if path is None or folder.resolve().parent != path.resolve():
        return ""
    names = (
        "config.toml",
        "run.json",
        "metrics.jsonl",
        "best.json",
        "best.safetensors",
    )
    links = "".join(
        f'<a href="../{name}" download>{name}</a>'
        for name in names
        if (path / name).exists()
    )
    return f'<p class="files">Beside the report: {links}</p>'
