"""Counts of an endpoint's requests, by version: for Prometheus, and for the control plane's status."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


@dataclass
class Counts:
    """The counts of one version."""

    by_status: Counter[int] = field(default_factory=Counter)
    by_bucket: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    seconds: float = 0.0
    bytes_in: int = 0
    bytes_out: int = 0

    def add(self, status: int, seconds: float, bytes_in: int, bytes_out: int) -> None:
        self.by_status[status] += 1
        self.by_bucket[bisect_left(BUCKETS, seconds)] += 1
        self.seconds += seconds
        self.bytes_in += bytes_in
        self.bytes_out += bytes_out

    @property
    def requests(self) -> int:
        return self.by_status.total()

    @property
    def errors(self) -> int:
        """Answers that are the service's fault."""
        return sum(count for status, count in self.by_status.items() if status >= 500)

    @property
    def refused(self) -> int:
        """Answers that are the caller's fault."""
        return sum(count for status, count in self.by_status.items() if 400 <= status < 500)


@dataclass(frozen=True, kw_only=True)
class Gauges:
    """The current values of one version."""

    version: str
    in_flight: int
    waiting: int
    ready: int
    utilization: float
    restarts: int
    """Workers that ended and are restarted, since the front has the version."""


def prometheus(
    endpoint: str, counts: dict[str, Counts], gauges: Iterable[Gauges], turned_away: Counts, connections: int
) -> bytes:
    """Text in Prometheus' format. `turned_away` is counted under no version, and not in the answer times."""
    lines: list[str] = []
    name = _escaped(endpoint)

    def family(metric: str, kind: str, text: str, values: Iterable[tuple[str, float]]) -> None:
        lines.append(f"# HELP roost_endpoint_{metric} {text}")
        lines.append(f"# TYPE roost_endpoint_{metric} {kind}")
        lines.extend(f"roost_endpoint_{label} {value:.10g}" for label, value in values)

    def labels(version: str) -> str:
        return f'endpoint="{name}",version="{_escaped(version)}"'

    family(
        "requests_total",
        "counter",
        "Requests answered, by status.",
        (
            (f'requests_total{{{labels(version)},status="{status}"}}', number)
            for version, each in (*counts.items(), ("", turned_away))
            for status, number in sorted(each.by_status.items())
        ),
    )
    family(
        "request_seconds",
        "histogram",
        "Seconds from the last byte of a request to its answer.",
        (pair for version, each in counts.items() for pair in _histogram(each, labels(version))),
    )
    for metric, text in (("bytes_in", "Bytes of requests' bodies."), ("bytes_out", "Bytes of answers' bodies.")):
        values = [
            (f"{metric}_total{{{labels(version)}}}", float(getattr(each, metric))) for version, each in counts.items()
        ]
        family(f"{metric}_total", "counter", text, values)
    now = list(gauges)
    restarts = ((f"worker_restarts_total{{{labels(g.version)}}}", g.restarts) for g in now)
    family("worker_restarts_total", "counter", "Workers of replicas that ended and are begun anew.", restarts)
    for metric, text in (
        ("in_flight", "Requests that are with a replica."),
        ("waiting", "Requests that wait for a replica."),
        ("ready", "Replicas that are ready."),
        ("utilization", "Share of the replicas' places in use, of the last seconds."),
    ):
        family(metric, "gauge", text, ((f"{metric}{{{labels(g.version)}}}", float(getattr(g, metric))) for g in now))
    family("connections", "gauge", "Open connections.", [(f'connections{{endpoint="{name}"}}', connections)])
    return ("\n".join(lines) + "\n").encode()


def _histogram(counts: Counts, labels: str) -> Iterable[tuple[str, float]]:
    total = 0
    for bound, number in zip((*map(str, BUCKETS), "+Inf"), counts.by_bucket, strict=True):
        total += number
        yield f'request_seconds_bucket{{{labels},le="{bound}"}}', total
    yield f"request_seconds_sum{{{labels}}}", counts.seconds
    yield f"request_seconds_count{{{labels}}}", total


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
