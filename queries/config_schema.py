"""The shape of the config file as strict pydantic models, and their errors in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from queries.durations import EXAMPLES, DurationError, parse_duration
from queries.sql_errors import did_you_mean
from queries.yaml_source import Document, Path

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _duration(value: Any) -> int:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} has no unit; write a duration, as in {EXAMPLES}")
    try:
        return parse_duration(value)
    except DurationError as error:
        raise ValueError(str(error)) from error


def _positive_duration(value: Any) -> int:
    length = _duration(value)
    if length <= 0:
        raise ValueError(f"it must be longer than zero, not {value}")
    return length


def _lateness(value: Any) -> int:
    length = _duration(value)
    if length < 0:
        raise ValueError(f"it cannot be negative, as {value} is")
    return length


def _instant(value: Any) -> int:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        raise ValueError(f"{value!r} is not a time; write 2027-01-01T00:00:00Z") from None
    if moment.tzinfo is None:
        raise ValueError(f"{value!r} has no time zone; write {value}Z for UTC")
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _off(value: Any) -> Any:
    """YAML reads a bare ``off`` as false."""
    return "off" if value is False else value


def _option(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise ValueError("it must be a single value")


Duration = Annotated[int, BeforeValidator(_positive_duration)]
Lateness = Annotated[int, BeforeValidator(_lateness)]
Instant = Annotated[int, BeforeValidator(_instant)]
Options = dict[str, Annotated[str, BeforeValidator(_option)]]
Priority = Annotated[int, Field(ge=-(2**31), lt=2**31)]


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class SourceShape(Shape):
    format: str
    path: str | None = None
    options: Options = {}


class StreamShape(Shape):
    source: SourceShape
    columns: str | None = Field(default=None, alias="schema")
    time: str | None = None
    interval: Duration | None = None
    lateness: Lateness = 0
    retain: Duration | None = None
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    idle_timeout: Duration | None = None


class QueryShape(Shape):
    name: str
    sql: str
    window: Duration | None = None
    slide: Duration | None = None
    semantics: Literal["no_restore", "restore"] = "no_restore"
    priority: Priority = 0
    until: Instant | None = None
    synopsis: Literal["running", "interval", "basic_interval"] | None = None
    placement: Literal["auto", "driver", "spark"] = "auto"
    consistent: str | None = None


class IncludeShape(Shape):
    include: str | list[str]


class SchedulerShape(Shape):
    policy: Literal["none", "aggressive", "conservative", "hybrid"] = "hybrid"
    sharing: Annotated[Literal["off", "late", "late_pending"], BeforeValidator(_off)] = "late_pending"
    idle: Literal["wait", "refresh_early"] = "wait"
    admission: Annotated[Literal["off", "warn", "refuse"], BeforeValidator(_off)] = "warn"


class SparkShape(Shape):
    master: str | None = None
    conf: Options = {}
    storage: str | None = None


class ResultsShape(Shape):
    """``results:`` as a mapping: the database, and the folder of large answers."""

    sql: str = "sqlite:///./var/results.db"
    lake: str | None = None


class MetricsShape(Shape):
    port: Annotated[int, Field(ge=0, le=65535)]


class ConfigShape(Shape):
    """The top of the file; streams and queries are checked one by one, so that one bad one hides no other."""

    state: str = "./var/state"
    results: Any = ResultsShape.model_fields["sql"].default
    results_keep: Duration | None = None
    streams: dict[str, Any]
    queries: Any
    scheduler: SchedulerShape = SchedulerShape()
    spark: SparkShape = SparkShape()
    metrics: MetricsShape | None = None
    audit: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.0
    driver_memory_share: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.25


class QueriesShape(Shape):
    """An included file."""

    queries: Any


S = TypeVar("S", bound=Shape)


def check_shape(shape: type[S], document: Document, path: Path, value: Any, what: str) -> S | None:
    """``value`` as ``shape``, or None with the reasons in ``document.problems``. ``what`` names it in messages."""
    if not isinstance(value, dict):
        keys = ", ".join(f"{name}:" for name in _keys(shape))
        document.problem(path, f"{what} must be a mapping with the keys {keys}")
        return None
    try:
        return shape.model_validate(value)
    except ValidationError as error:
        for detail in _once(error.errors()):
            _report(shape, document, path, detail, what)
        return None


def _once(details: list[ErrorDetails]) -> Iterator[ErrorDetails]:
    seen = set()
    for detail in details:
        place = tuple(detail["loc"])
        if place not in seen:
            seen.add(place)
            yield detail


def _keys(shape: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in shape.model_fields.items()]


def _shape_at(shape: type[BaseModel], loc: tuple[str | int, ...]) -> type[BaseModel]:
    for part in loc:
        field = next((field for name, field in shape.model_fields.items() if (field.alias or name) == part), None)
        annotation = field.annotation if field else None
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return shape
        shape = annotation
    return shape


_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "list_type": "a list",
    "model_type": "a mapping",
}


def _report(shape: type[BaseModel], document: Document, path: Path, detail: ErrorDetails, what: str) -> None:
    loc = tuple(detail["loc"])
    while loc and not document.knows((*path, *loc)) and detail["type"] != "missing":
        loc = loc[:-1]
    place, name, kind = (*path, *loc), ".".join(str(part) for part in loc), detail["type"]
    prefix = f"{what}: " if what.startswith("stream ") else ""
    if kind == "extra_forbidden":
        keys = _keys(_shape_at(shape, loc[:-1]))
        hint = did_you_mean(str(loc[-1]), keys) or f"the keys are {', '.join(keys)}"
        owner = prefix + ".".join(str(part) for part in loc[:-1]) if len(loc) > 1 else what
        document.problem(place, f"{owner} has no key {loc[-1]}", hint, key=True)
    elif kind == "missing":
        owner = prefix + ".".join(str(part) for part in loc[:-1]) if len(loc) > 1 else what
        document.problem(place[:-1], f"{owner} needs the key {loc[-1]}:", key=len(place) > 1)
    elif kind == "literal_error":
        allowed = str(detail.get("ctx", {}).get("expected", "")).replace("'", "")
        choices = allowed.replace(" or ", ", ").split(", ")
        guess = did_you_mean(str(detail["input"]), choices)
        document.problem(place, f"{prefix}{name} must be {allowed}, not {detail['input']}", guess)
    elif kind == "value_error":
        document.problem(place, f"{prefix}{name}: {detail.get('ctx', {}).get('error', detail['msg'])}")
    elif kind in _EXPECTED:
        document.problem(
            place,
            f"{prefix if name else ''}{name or what} must be {_EXPECTED[kind]}, not {_described(detail['input'])}",
        )
    else:
        document.problem(place, f"{name or what}: {detail['msg'][:1].lower()}{detail['msg'][1:]}")


def _described(value: Any) -> str:
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else repr(value)
