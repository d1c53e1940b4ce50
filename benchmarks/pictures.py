"""The pictures of docs/performance.md, from what the last run left in ``benchmarks/out``.

    python -m benchmarks.pictures

publishes those that are there: the README's one, refreshes per second of the yardstick workload by everyone, is drawn
from the figures of ``benchmarks.shared_refresh``; those of ``growth``, ``streaming`` and ``topk_skew`` are copied. The
flame graph is published by ``python -m benchmarks.profile_replay --publish``.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from benchmarks.measuring import OUT

_OURS = "Hemiola"
_COPIED = {
    "growth.svg": "performance-growth.svg",
    "streaming.svg": "performance-streaming.svg",
    "topk_skew.svg": "topk-skew.svg",
}
IMAGES = Path(__file__).parents[1] / "docs" / "images"


def draw_yardstick(found_in: Path, picture: Path) -> None:
    from matplotlib import pyplot

    found = [
        json.loads(path.read_text())
        for rate in (3000, 30_000)
        if (path := found_in / f"shared_refresh_{rate}.json").exists()
    ]
    pyplot.rcParams["svg.hashsalt"] = "hemiola"
    figure, panels = pyplot.subplots(1, len(found), figsize=(5.5 * len(found), 2.8), squeeze=False)
    for panel, measured in zip(panels[0], found, strict=True):
        rates = dict(sorted(measured["rates"].items(), key=lambda item: item[1]))
        colours = ["#c0392b" if name == _OURS else "#8395a7" for name in rates]
        bars = panel.barh(list(rates), list(rates.values()), color=colours)
        labels = [
            f"{rate:,.4g}/s" if name == _OURS else f"{rate:,.3g}/s (1/{rates[_OURS] / rate:.3g})"
            for name, rate in rates.items()
        ]
        panel.bar_label(bars, labels, padding=3, fontsize=9)
        panel.set_xlim(0, max(rates.values()) * 1.25)
        panel.set_title(f"{measured['rate']:,} records per interval", fontsize=10)
        panel.set_xlabel("query refreshes per second")
        panel.spines[["top", "right"]].set_visible(False)
    day = found[0]["machine"]["measured_at"][:10]
    figure.suptitle(f"240 sliding-window queries kept fresh, two cores, {day}", fontsize=11)
    figure.tight_layout()
    figure.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None)
    pyplot.close(figure)


def main() -> None:
    if (OUT / "shared_refresh_3000.json").exists():
        draw_yardstick(OUT, IMAGES / "performance-yardstick.svg")
    for name, published in _COPIED.items():
        if (OUT / name).exists():
            shutil.copyfile(OUT / name, IMAGES / published)


if __name__ == "__main__":
    main()
