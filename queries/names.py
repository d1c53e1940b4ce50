"""What queries and streams may be called: their names become names of SQL tables."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST = 200


def name_problem(kind: str, name: str) -> tuple[str, str | None] | None:
    """Why ``name`` cannot name a query or stream (``kind``), with a remedy; None if it can."""
    if not _NAME.fullmatch(name):
        remedy = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")
        remedy = f"_{remedy}" if remedy[:1].isdigit() else remedy
        hint = f"for instance {remedy}" if _NAME.fullmatch(remedy) else None
        return f"a {kind}'s name is made of letters, digits and _, and does not begin with a digit: {name!r}", hint
    if name.lower().startswith(("hemiola_", "sqlite_")):
        prefix = name[: name.index("_") + 1]
        return f"names that begin with {prefix} are kept for Hemiola and SQLite", f"for instance my_{name}"
    if re.search(r"__\d+$", name):
        return f"names that end like {name} are kept for older answers of a query", f"for instance {name}_"
    if len(name) > _LONGEST:
        return f"the name is longer than {_LONGEST} characters", None
    return None
