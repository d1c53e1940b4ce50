"""The deadlines of all tasks of one stream, as absolute update numbers in a heap.

The time-until-deadline of the dissertation's Algorithms 9 to 11 is ``d = deadline - now``: nothing has to be
decremented at an update, and only a task that ran is moved.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from scheduler.tasks import Task, first_deadline

NEVER = -(2**62)
"""Stands for the last run of a task, or the last refresh of a query, that has had none."""

Urgency = tuple[int, int, int, str]


@dataclass(frozen=True)
class Entry:
    """A task on the agenda: its deadline and the update as of which it last ran."""

    task: Task
    deadline: int
    last_run: int

    @property
    def urgency(self) -> Urgency:
        """Order of execution: deadline, then higher priority, then the longer-waiting, then the name."""
        return (self.deadline, -self.task.priority, self.last_run, self.task.name)


class Agenda:
    """Who is due when. Update numbers passed as ``now`` must not decrease."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._groups: dict[str, dict[str, Entry]] = defaultdict(dict)
        self._heap: list[Urgency] = []
        self._refreshed: dict[str, int] = {}
        self._promised: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    @property
    def tasks(self) -> tuple[Task, ...]:
        return tuple(entry.task for entry in self._entries.values())

    def add(self, task: Task, now: int) -> None:
        """Put a task on the agenda, due at the first multiple of its period after ``now``.

        A query that was refreshed before in another task is not made to wait longer than its slide, and is not
        refreshed twice at one update: both bounds hold for the task.
        """
        if task.name in self._entries:
            raise ValueError(f"task {task.name} is already on the agenda")
        known = [self._promised[query] for query in task.queries if query in self._promised]
        deadline = min([first_deadline(task.period, now), *known])
        for member in task.members:
            self._promised.setdefault(member.query, max(deadline, first_deadline(member.slide, now)))
        last = max(self._refreshed.get(query, NEVER) for query in task.queries)
        self._put(Entry(task, max(deadline, last + 1), last))

    def remove(self, name: str) -> None:
        """Take a task off the agenda; its queries' times are kept for the task that takes them over."""
        entry = self._entries.pop(name)
        del self._groups[entry.task.group][name]

    def replace(self, tasks: Iterable[Task], now: int) -> None:
        """Make ``tasks`` the whole agenda: unchanged tasks keep their deadlines, queries gone are forgotten."""
        wanted = {task.name: task for task in tasks}
        for name, entry in list(self._entries.items()):
            if wanted.get(name) != entry.task:
                self.remove(name)
        for name, task in wanted.items():
            if name not in self._entries:
                self.add(task, now)
        scheduled = {query for task in wanted.values() for query in task.queries}
        for query in [query for query in self._promised if query not in scheduled]:
            if self._refreshed.get(query, NEVER) < now:
                del self._promised[query]
                self._refreshed.pop(query, None)

    def ran(self, task: Task, now: int) -> None:
        """The task was run as of update ``now``: its deadline is a full period later, also when it was late."""
        for member in task.members:
            self._refreshed[member.query] = now
            self._promised[member.query] = now + member.slide
        self._put(Entry(task, now + task.period, now))

    def remaining(self, name: str, now: int) -> int:
        """d, the number of updates until the task's deadline; negative when it is late."""
        return self._entries[name].deadline - now

    def entry(self, name: str) -> Entry:
        return self._entries[name]

    def of_group(self, group: str) -> tuple[Entry, ...]:
        """The entries of one group, most urgent first."""
        return tuple(sorted(self._groups[group].values(), key=lambda entry: entry.urgency))

    def lowest(self, now: int) -> Task | None:
        """The task with the lowest d; ties by priority, waiting time, name."""
        while self._heap:
            urgency = self._heap[0]
            entry = self._entries.get(urgency[-1])
            if entry is not None and entry.urgency == urgency:
                return entry.task
            heapq.heappop(self._heap)
        return None

    def lowest_rested(self, now: int) -> Task | None:
        """As ``lowest``, of the tasks that have not yet run as of this update."""
        rested = (entry for entry in self._entries.values() if entry.last_run < now)
        entry = min(rested, key=lambda entry: entry.urgency, default=None)
        return None if entry is None else entry.task

    def due(self, now: int) -> tuple[Task, ...]:
        """The tasks with d <= 0, most urgent first."""
        waiting = sorted(entry.urgency for entry in self._entries.values() if entry.deadline <= now)
        return tuple(self._entries[urgency[-1]].task for urgency in waiting)

    def late(self, now: int) -> dict[str, int]:
        """By how many updates each late query (d < 0) is over its own slide's bound; what ``status`` shows."""
        queries = (query for entry in self._entries.values() for query in entry.task.queries)
        return {query: now - self._promised[query] for query in queries if self._promised[query] < now}

    def late_by(self, query: str, now: int) -> int:
        """By how many updates a query is over its own slide's bound; 0 when it is on time."""
        return max(0, now - self._promised[query])

    def _put(self, entry: Entry) -> None:
        self._entries[entry.task.name] = entry
        self._groups[entry.task.group][entry.task.name] = entry
        heapq.heappush(self._heap, entry.urgency)
