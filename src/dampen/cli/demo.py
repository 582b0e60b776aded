"""`dampen demo`: the README's questions, printed and drawn, and what to try next."""

import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dampen.cli.output import complain, examples, write
from dampen.errors import DampenError, ParameterError

if TYPE_CHECKING:
    from dampen.cli.demo_scenes import Scene

__all__ = ["demo", "next_commands"]

WIDTH = 80
BAR = 24
COLOURS = ("#0068a8", "#8a9099")
FOLDER = Path("dampen-demo")
PICTURE = "accuracy.png"


@click.command(epilog=examples("dampen demo", "dampen demo -o tour", "dampen demo --files ."))
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIRECTORY",
    default=FOLDER,
    show_default=True,
    help="Where the files of the examples and a plot are put.",
)
@click.option(
    "--files",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIRECTORY",
    help="Write the files of the documentation's examples there, and stop.",
)
def demo(output: Path, files: Path | None) -> None:
    """Asks four questions of small public data, and shows how good the answers are.

    Private answers beside the true ones, and bars for this library and for the exponential
    mechanism. Randomness is seeded here, so that you see the same every time; a release takes it
    from the operating system.
    """
    from dampen.cli.demo_files import write_files

    if files is not None:
        write(f"Wrote {', '.join(write_files(files))}.")
        return
    started = time.monotonic()
    _make(output)
    write_files(output)
    scenes = []
    for scene in _scenes(output):
        _show(scene)
        scenes.append(scene)
    drawn = _save(scenes, output / PICTURE)
    write(f"Done in {time.monotonic() - started:.0f} s. {_told(output, drawn)}\n")
    write("Next, an answer that a budget pays for, marked as a trial:\n")
    for command in next_commands(output):
        write(textwrap.indent(" \\\n    ".join(command), "  "))


def next_commands(folder: Path) -> list[list[str]]:
    """Three commands, each in lines, that work after this one as they are printed."""
    program = _program()
    budget = _free_name("demo")
    return [
        [f"{program} budget create {budget} --epsilon 1", "--neighbours add-remove-row --trial"],
        [
            f"{program} top-groups {folder / 'stays.csv'}",
            "--value days --by hospital --groups H1,H2,H3",
            f"--lower 0 --upper 100 --step 1 --epsilon 0.3 --budget {budget}",
        ],
        [f"{program} budget show {budget}"],
    ]


def _program() -> str:
    """How this program was called, if its name alone would call another one, or none."""
    from shutil import which

    called = Path(sys.argv[0])
    if called.stem == "__main__":
        return "python -m dampen"
    found = which("dampen")
    if called.exists() and (found is None or not called.samefile(found)):
        return str(called)
    return "dampen"


def _free_name(name: str) -> str:
    """A name that the ledger does not have."""
    from dampen.ledger import Ledger, default_place

    try:
        taken = set(Ledger(default_place()))
    except DampenError:
        return name
    names = (name, *(f"{name}-{i}" for i in range(2, len(taken) + 3)))
    return next(each for each in names if each not in taken)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise ParameterError(f"Cannot write {folder}: {error.strerror}.") from None


def _scenes(folder: Path) -> Iterator["Scene"]:
    from dampen.cli import demo_scenes

    yield demo_scenes.hospitals(folder / "stays.csv")
    yield demo_scenes.influence()
    yield demo_scenes.tumours()
    yield demo_scenes.diagnosis()


def _show(scene: "Scene") -> None:
    better = "more" if scene.larger_is_better else "less"
    lines = [
        click.style(scene.question, bold=True),
        click.style(scene.data, dim=True),
        "  {:<24} {}".format(*scene.beside),
        f"  {f'private, at ε = {scene.epsilon}':<24} {scene.private}",
        f"  {scene.measure} ({better} is better):",
        *bars(scene),
        "",
    ]
    write("\n".join(lines))


def bars(scene: "Scene") -> list[str]:
    """One line per ε, one bar per method; all bars on one scale."""
    names = list(scene.curves)
    epsilons = list(scene.curves[names[0]])
    largest = max(value for curve in scene.curves.values() for value in curve.values())
    top = 1.0 if scene.larger_is_better else largest
    lines = ["  ε    " + "".join(f"{name:<{BAR + 9}}" for name in names).rstrip()]
    for epsilon in epsilons:
        parts = [_bar(scene.curves[name][epsilon], top, scene) for name in names]
        lines.append(f"  {epsilon:<4g} " + "".join(parts).rstrip())
    return lines


def _bar(value: float, top: float, scene: "Scene") -> str:
    eighths = round(8 * BAR * value / top) if top > 0 else 0
    full, part = divmod(eighths, 8)
    block = "█" * full + ("▏▎▍▌▋▊▉"[part - 1] if part else "")
    number = f"{value:.2f}" if scene.larger_is_better else f"{value:.2g}"
    return f"{block:<{BAR}} {number:<8}"


def _told(folder: Path, drawn: bool) -> str:
    return f"{'A plot and the' if drawn else 'The'} files of all examples are in {folder}/."


def _save(scenes: Sequence["Scene"], output: Path) -> bool:
    """Draws the plot, if there is something to draw with."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        complain("No plot: matplotlib is missing (pip install 'dampen[plot]').")
        return False
    figure = Figure(figsize=(10, 7.4), layout="constrained")
    FigureCanvasAgg(figure)
    for ax, scene in zip(figure.subplots(2, 2).flat, scenes, strict=True):
        _draw(ax, scene)
    try:
        figure.savefig(output, dpi=150)
    except OSError as error:
        raise ParameterError(f"Cannot write {output}: {error.strerror}.") from None
    return True


def _draw(ax: Any, scene: "Scene") -> None:
    for (name, curve), colour in zip(scene.curves.items(), COLOURS, strict=True):
        ax.plot(list(curve), list(curve.values()), "o-", color=colour, linewidth=2, label=name)
    ticks = list(next(iter(scene.curves.values())))
    ax.set_xscale("log")
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.set(xlabel="ε", ylim=(0, 1.04 if scene.larger_is_better else None))
    better = "more" if scene.larger_is_better else "less"
    ax.set_title(f"{scene.question}\n{scene.measure} ({better} is better)", fontsize=9, loc="left")
    ax.legend(frameon=False, fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="#e3e5e9", linewidth=0.8)
