"""What changed from one plan to the next: what the daemon must build, extend or may forget, and what explain says."""

from __future__ import annotations

from dataclasses import dataclass

from sharing.kept import KeptSynopsis
from sharing.plan import StreamPlan
from sharing.wording import component_text


@dataclass(frozen=True)
class Changed:
    """A synopsis that stays, but not as it was."""

    before: KeptSynopsis
    after: KeptSynopsis

    def __str__(self) -> str:
        said = []
        old, new = self.before.need.components, self.after.need.components
        if added := [component_text(part) for part in new if part not in old]:
            said.append(f"also keeps {', '.join(added)}")
        if gone := [component_text(part) for part in old if part not in new]:
            said.append(f"no longer keeps {', '.join(gone)}")
        if self.before.b != self.after.b:
            said.append(f"{self.before.b} → {self.after.b} intervals")
        kinds = [dict(zip(one.need.components, one.kinds, strict=True)) for one in (self.before, self.after)]
        if any(kinds[0].get(part, kind) != kind for part, kind in kinds[1].items()):
            said.append("another kind of synopsis")
        return f"{self.after.name}: {'; '.join(said)}"


@dataclass(frozen=True)
class PlanDiff:
    """``reread`` names the queries that stay and are answered another way."""

    registered: tuple[str, ...]
    deregistered: tuple[str, ...]
    added: tuple[KeptSynopsis, ...]
    dropped: tuple[KeptSynopsis, ...]
    changed: tuple[Changed, ...]
    reread: tuple[str, ...]

    def __bool__(self) -> bool:
        return any(vars(self).values())

    def __str__(self) -> str:
        lines = [f"+ query {name}" for name in self.registered]
        lines += [f"- query {name}" for name in self.deregistered]
        lines += [f"+ synopsis {kept.name}, {kept.b} intervals" for kept in self.added]
        lines += [f"- synopsis {kept.name}" for kept in self.dropped]
        lines += [f"~ synopsis {change}" for change in self.changed]
        lines += [f"~ query {name} is answered another way" for name in self.reread]
        return "\n".join(lines) if lines else "nothing changes"


def diff(old: StreamPlan, new: StreamPlan) -> PlanDiff:
    before, after = ({plan.query.name: plan for plan in side.queries} for side in (old, new))
    kept_before, kept_after = ({kept.name: kept for kept in side.kept} for side in (old, new))
    return PlanDiff(
        registered=tuple(name for name in after if name not in before),
        deregistered=tuple(name for name in before if name not in after),
        added=tuple(kept for name, kept in kept_after.items() if name not in kept_before),
        dropped=tuple(kept for name, kept in kept_before.items() if name not in kept_after),
        changed=tuple(
            Changed(kept_before[name], kept)
            for name, kept in kept_after.items()
            if name in kept_before and kept_before[name] is not kept and kept_before[name] != kept
        ),
        reread=tuple(
            name
            for name, plan in after.items()
            if name in before and before[name] is not plan and before[name].parts != plan.parts
        ),
    )
