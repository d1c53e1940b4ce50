"""The shared plan as a tree for people: streams, synopses, tasks, queries, the rule on every edge."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.text import Text
from rich.tree import Tree

from hemiola.explanation import Explanation, QueryLine, StreamExplanation, SynopsisLine
from sharing.why import Why

_LONGEST_NAME = 24


def show_plan(console: Console, explanation: Explanation) -> None:
    for stream in explanation.streams:
        console.print(_tree(stream, explanation.policy))
        _totals(console, stream)


def show_why(console: Console, pair: Why) -> None:
    console.print(f"[bold]{escape(pair.sentence)}[/]", highlight=False)
    console.print(f"  records: {escape(pair.predicates)}", highlight=False)
    for saying in pair.sayings:
        mark = "[green]yes[/]" if saying.applies else "[yellow]no[/] "
        console.print(f"  {mark}  [bold]{escape(saying.rule)}[/]: {escape(saying.text)}", highlight=False)


def _tree(stream: StreamExplanation, policy: str) -> Tree:
    counts = f"{stream.queries} queries in {stream.groups} groups on {len(stream.synopses)} synopses"
    tree = Tree(
        Text.assemble(
            ("stream ", ""), (stream.stream, "bold"), f": {counts}, updated every {stream.interval}, {policy}"
        ),
        guide_style="dim",
    )
    widest = max(
        (len(query.name) for line in stream.synopses for task in line.tasks for query in task.queries), default=0
    )
    for line in stream.synopses:
        _synopsis(tree, stream, line, min(widest, _LONGEST_NAME))
    return tree


def _synopsis(tree: Tree, stream: StreamExplanation, line: SynopsisLine, width: int) -> None:
    kinds: dict[str, list[str]] = {}
    for kept in line.keeps:
        kinds.setdefault(kept.kind, []).append(kept.what)
    keeps = "; ".join(f"{', '.join(whats)} ({kind})" for kind, whats in kinds.items())
    name = line.name.removeprefix(f"{stream.stream} ")
    intervals = f"{line.intervals} interval{'s' * (line.intervals != 1)}"
    branch = tree.add(Text.assemble((name, "bold cyan"), f": {intervals} of {keeps}"))
    for task in line.tasks:
        twig = branch.add(Text(f"every {task.period}", style="dim"))
        for query in task.queries:
            twig.add(_query(stream, query, width))
    members = {query.name for task in line.tasks for query in task.queries}
    visitors = [reader for reader in line.readers if reader not in members]
    if visitors:
        branch.add(Text(f"{'also ' if members else ''}read by {', '.join(visitors)}", style="dim"))


def _query(stream: StreamExplanation, query: QueryLine, width: int) -> Text:
    base, *others = query.reads
    text = Text.assemble((query.name.ljust(width), "bold"), "  ", f"{query.window:>6}  ", (base.rule, "green"))
    if len(base.synopses) > 1:
        names = [name.replace(f"{stream.stream} ", "", 1) for name in base.synopses]
        text.append(f" = {names[0]}" + "".join(f" − {n[1:]}" if n[0] == "-" else f" + {n}" for n in names[1:]))
    for read in others:
        names = [name.replace(f"{stream.stream} ", "", 1) for name in read.synopses]
        text.append(f"; {read.what}: {' + '.join(names)} ")
        text.append(read.rule, "green")
    if query.shares_output_of is not None:
        text.append(f"; output of {query.shares_output_of} ")
        text.append("CS8", "green")
    text.append(f"  +{query.adds:,.0f}", "dim")
    if query.frees:
        text.append(f", holds {query.frees:,.0f}", "dim")
    return text


def _totals(console: Console, stream: StreamExplanation) -> None:
    shared, unshared = stream.shared, stream.unshared
    if not shared.cost:
        return
    lines = (
        f"cost per update: {shared.cost:,.0f} shared, {unshared.cost:,.0f} unshared "
        f"({unshared.cost / shared.cost:.1f} times as much)",
        f"memory: {shared.entries:,.0f} entries in {_synopses(shared.synopses)}, "
        f"{unshared.entries:,.0f} in {_synopses(unshared.synopses)} unshared",
        "+n: what the query adds to the cost per update, and removing it saves; holds n: entries it frees",
        "an entry is one group of one interval; costs are merges of one entry, guessed where not measured",
    )
    console.print("\n".join(lines), style="dim", highlight=False)


def _synopses(count: int) -> str:
    return f"{count} synops{'i' if count == 1 else 'e'}s"
