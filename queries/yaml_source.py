"""YAML with positions: plain values, and for every key and value the place it came from in the file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml

from queries.errors import Problem

Path = tuple[str | int, ...]
_MOST_NODES = 1_000_000
_COLLECTIONS = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_BLOCK_STYLES = ("|", ">")


@dataclass
class Document:
    """A YAML file: ``value`` is made of dict, list, str, int, float, bool and None; paths lead into it.

    ``name`` is the file as the user named it, used in every location.
    """

    name: str
    text: str
    value: Any = None
    problems: list[Problem] = field(default_factory=list)
    _values: dict[Path, yaml.Node] = field(default_factory=dict)
    _keys: dict[Path, yaml.Node] = field(default_factory=dict)
    _lines: list[int] = field(default_factory=list)

    def locate(self, path: Path, key: bool = False) -> str:
        """``file:line:col`` of the value at ``path`` (of its key with ``key``), or of the nearest thing around it."""
        for end in range(len(path), -1, -1):
            node = self._keys.get(path[:end]) if key or end < len(path) else None
            node = node or self._values.get(path[:end])
            if node is not None:
                return self._place(node.start_mark.line, node.start_mark.column)
        return f"{self.name}:1:1"

    def knows(self, path: Path) -> bool:
        """Whether something in the file stands at ``path``."""
        return path in self._values

    def locate_inside(self, path: Path, offset: int) -> str:
        """``file:line:col`` of character ``offset`` of the string at ``path``, whatever style it is written in.

        The raw text is walked from the scalar's start, matching the string's non-blank characters in order: blanks
        are what folding and indentation change, and quotes and escapes in between are passed over.
        """
        node = self._values[path]
        raw = self._index(node.start_mark)
        if getattr(node, "style", None) in _BLOCK_STYLES:
            raw = self.text.find("\n", raw) + 1
        elif getattr(node, "style", None):
            raw += 1
        found = raw
        for index, character in enumerate(str(node.value)):
            if character.isspace():
                continue
            at = self.text.find(character, raw)
            if at < 0:
                return self.locate(path)
            if index >= offset:
                found = at
                break
            raw = found = at + 1
        line = self.text.count("\n", 0, found)
        return self._place(line, found - (self.text.rfind("\n", 0, found) + 1))

    def problem(self, path: Path, message: str, hint: str | None = None, key: bool = False) -> None:
        self.problems.append(Problem(self.locate(path, key), None, message, hint))

    def _index(self, mark: Any) -> int:
        if not self._lines:
            self._lines = [0, *(place + 1 for place, character in enumerate(self.text) if character == "\n")]
        return self._lines[min(int(mark.line), len(self._lines) - 1)] + int(mark.column)

    def _place(self, line: int, column: int) -> str:
        return f"{self.name}:{line + 1}:{column + 1}"


def read_document(name: str, text: str) -> Document:
    """Parse ``text``. Syntax errors and duplicate keys are in ``problems``; ``value`` is None if nothing is usable."""
    document = Document(name, text)
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        node = loader(text).get_single_node()
        if node is not None:
            document.value = _Converter(document).convert(node, ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = document._place(mark.line, mark.column) if mark else f"{name}:1:1"
        reason = error.problem or error.context or "it does not parse"
        if reason.startswith("but ") and error.context:
            reason = f"{error.context} {reason}"
        document.problems.append(Problem(place, None, f"this is not valid YAML: {reason}"))
    except yaml.YAMLError as error:
        document.problems.append(Problem(f"{name}:1:1", None, f"this is not valid YAML: {str(error).splitlines()[0]}"))
    except RecursionError:
        document.problems.append(Problem(f"{name}:1:1", None, "this YAML is nested too deeply"))
    return document


class _Converter:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._open: list[yaml.Node] = []
        self._count = 0

    def convert(self, node: yaml.Node, path: Path) -> Any:
        self._document._values[path] = node
        self._count += 1
        if any(node is other for other in self._open) or self._count > _MOST_NODES:
            raise yaml.composer.ComposerError(
                None, None, "an alias contains itself or repeats too much", node.start_mark
            )
        self._open.append(node)
        try:
            if not isinstance(node, yaml.ScalarNode) and node.tag not in _COLLECTIONS:
                self._document.problem(path, f"the YAML tag {node.tag} is not supported")
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path)
            if isinstance(node, yaml.SequenceNode):
                return [self.convert(item, (*path, number)) for number, item in enumerate(node.value)]
            assert isinstance(node, yaml.ScalarNode)
            return self._scalar(node, path)
        finally:
            self._open.pop()

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                place = self._document._place(key_node.start_mark.line, key_node.start_mark.column)
                self._document.problems.append(Problem(place, None, "a key must be a plain word"))
                continue
            key = str(key_node.value)
            if key in result:
                place = self._document._place(key_node.start_mark.line, key_node.start_mark.column)
                first = self._document._keys[*path, key].start_mark.line + 1
                self._document.problems.append(
                    Problem(place, None, f"the key {key} is given twice", f"the first is on line {first}")
                )
                continue
            self._document._keys[*path, key] = key_node
            result[key] = self.convert(value_node, (*path, key))
        return result

    def _scalar(self, node: yaml.ScalarNode, path: Path) -> Any:
        kind, text = node.tag.rpartition(":")[2], str(node.value)
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() in ("yes", "true", "on")
        try:
            if kind == "int":
                return int(text.replace("_", ""), 0)
            if kind == "float":
                return float(text.replace("_", "").replace(".inf", "inf").replace(".nan", "nan").replace(".NaN", "nan"))
        except ValueError:
            return text
        if kind in ("str", "timestamp"):
            return text
        self._document.problem(path, f"the YAML tag {node.tag} is not supported")
        return text
