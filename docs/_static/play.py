"""What the page `play.md` asks of dampen: made-up wards, and which of them is drawn how often."""

import warnings

import dampen

LONG = {"North": 9, "East": 8, "South": 6, "West": 3}
"""Days of most stays in every ward; all data here is made up and public."""


def stays(rows: int) -> tuple[list[int], list[str]]:
    """Days and wards of so many stays, the same on every call."""
    wards = [list(LONG)[i % len(LONG)] for i in range(rows)]
    days = [max(0, LONG[ward] + (i * 7919) % 5 - 2) for i, ward in enumerate(wards)]
    return days, wards


def play(rows: int, epsilon: float, times: int) -> str:
    """Which ward has the longest median stay, asked anew so many times; lines of text."""
    days, wards = stays(rows)
    asked = {"by": wards, "groups": list(LONG), "lower": 0, "upper": 12, "step": 1}
    found = dict.fromkeys(LONG, 0)
    for _ in range(times):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            release = dampen.top_groups(days, **asked, epsilon=epsilon)
        found[release.answer] += 1
    return "\n".join(f"{ward:6} {'█' * round(30 * n / times)} {n}" for ward, n in found.items())
