"""Merged states of a reading out of those of its synopses: added, taken away, picked by cell, rolled up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sharing.reading import Input, Reading, Runs, Term
from synopses.accumulator import Accumulator, code_space
from synopses.algebra import Component, State
from synopses.carriers import Array
from synopses.keys import KeyNode, KeyTree
from synopses.merged import Merged, Partials
from synopses.preaggregate import Preaggregation


def assemble(
    reading: Reading,
    components: Sequence[Component],
    tree: KeyTree,
    needs: Mapping[Input, Preaggregation],
    found: Mapping[Input, Merged],
) -> Merged:
    """One state per group of ``reading.keys``. Groups of which nothing is left (no records) are not there."""
    onto = tree.node(reading.keys)
    pieces = [_piece(term, components, tree, needs[term.source], found[term.source], onto) for term in reading.terms]
    codes = np.concatenate([piece.codes for piece in pieces])
    accumulator = Accumulator(components, onto.size, code_space(codes, onto.size))
    for piece in pieces:
        guarded = [
            component.guard(state, len(codes)) for component, state in zip(components, piece.states, strict=True)
        ]
        accumulator.absorb(piece.codes, guarded)
    return accumulator.merged()


def _piece(
    term: Term,
    components: Sequence[Component],
    tree: KeyTree,
    need: Preaggregation,
    merged: Merged,
    onto: KeyNode,
) -> Partials:
    node = tree.node(need.keys)
    codes = merged.codes
    states: list[State] = [merged.state(need.components.index(component)) for component in components]
    if term.cells is not None:
        picked = np.flatnonzero(_in_cells(node, codes, term.cells))
        codes = codes[picked]
        states = [tuple(part[picked] for part in state) for state in states]
    if term.sign < 0:
        states = [tuple(-part for part in state) for state in states]
    return Partials(node.project(codes, onto), tuple(states))


def _in_cells(node: KeyNode, codes: Array, cells: Runs) -> Array:
    """Which of the codes of a node, whose last key is a cell number, lie in the cells."""
    assert node.values is not None
    numbers: Array = node.values.array().to_numpy(zero_copy_only=False).astype(np.int64)
    inside = np.zeros(len(numbers), dtype=bool)
    for low, high in cells:
        inside |= (numbers >= low) & (numbers < high)
    picked: Array = inside[node.value_codes(codes)]
    return picked
