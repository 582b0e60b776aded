"""`dampen demo`: the three applications, printed and drawn."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dampen.cli.output import complain, examples, table_text, write
from dampen.errors import ParameterError

if TYPE_CHECKING:
    from dampen.cli.demo_scenes import Scene

__all__ = ["demo"]

BAR = 24
COLOURS = ("#0068a8", "#8a9099")
PICTURE = Path("dampen-demo.png")


@click.command(
    epilog=examples("dampen demo", "dampen demo -o picture.png", "dampen demo --files .")
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=PICTURE,
    show_default=True,
    help="Where to save the plot.",
)
@click.option(
    "--files",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIRECTORY",
    help="Write the files of the documentation's examples there, and stop.",
)
def demo(output: Path, files: Path | None) -> None:
    """Shows the three applications on small, public, real data.

    Private answers beside the true ones and beside those of the exponential mechanism, with bars in
    the terminal and a plot as PNG. Randomness is seeded here, so that you see the same every time;
    a release takes it from the operating system.
    """
    if files is not None:
        from dampen.cli.demo_files import write_files

        write(f"Wrote {', '.join(write_files(files))}.")
        return
    if not output.absolute().parent.is_dir():
        raise ParameterError(f"Cannot write {output}: no such directory.")
    started = time.monotonic()
    from dampen.cli import demo_scenes

    scenes = []
    for play in (demo_scenes.influence, demo_scenes.tumours, demo_scenes.diagnosis):
        scene = play()
        _show(scene)
        scenes.append(scene)
    _save(scenes, output)
    write(f"Done in {time.monotonic() - started:.0f} s. Next: docs/getting-started.md")


def _show(scene: "Scene") -> None:
    better = "more" if scene.larger_is_better else "less"
    lines = [
        click.style(scene.title, bold=True),
        "",
        table_text(scene.columns, scene.rows),
        "",
        f"{scene.measure} ({better} is better)",
        *bars(scene),
        click.style(scene.remark, dim=True),
        "",
    ]
    write("\n".join(lines))


def bars(scene: "Scene") -> list[str]:
    """One line per ε, one bar per method; all bars on one scale."""
    names = list(scene.curves)
    epsilons = list(scene.curves[names[0]])
    largest = max(value for curve in scene.curves.values() for value in curve.values())
    top = 1.0 if scene.larger_is_better else largest
    lines = ["  ε      " + "".join(f"{name:<{BAR + 10}}" for name in names).rstrip()]
    for epsilon in epsilons:
        parts = [_bar(scene.curves[name][epsilon], top) for name in names]
        lines.append(f"  {epsilon:<6g} " + "".join(parts).rstrip())
    return lines


def _bar(value: float, top: float) -> str:
    eighths = round(8 * BAR * value / top) if top > 0 else 0
    full, part = divmod(eighths, 8)
    block = "█" * full + ("▏▎▍▌▋▊▉"[part - 1] if part else "")
    return f"{block:<{BAR}} {value:<9.3g}"


def _save(scenes: Sequence["Scene"], output: Path) -> None:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        complain("No plot: matplotlib is missing (pip install 'dampen[plot]').")
        return
    figure = Figure(figsize=(13, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    for ax, scene in zip(figure.subplots(1, len(scenes)), scenes, strict=True):
        _draw(ax, scene)
    lines, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower center", ncols=len(names), frameon=False)
    try:
        figure.savefig(output, dpi=150)
    except OSError as error:
        raise ParameterError(f"Cannot write {output}: {error.strerror}.") from None
    write(f"The plot is in {output}.")


def _draw(ax: Any, scene: "Scene") -> None:
    for (name, curve), colour in zip(scene.curves.items(), COLOURS, strict=True):
        ax.plot(list(curve), list(curve.values()), "o-", color=colour, linewidth=2, label=name)
    ticks = list(next(iter(scene.curves.values())))
    ax.set_xscale("log")
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.set(xlabel="ε", ylim=(0, 1.02 if scene.larger_is_better else None))
    better = "more" if scene.larger_is_better else "less"
    ax.set_ylabel(f"{better} is better", color="#676d76")
    ax.set_title(f"{scene.title.partition(', ε')[0]}\n{scene.measure}", fontsize=9, loc="left")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="#e3e5e9", linewidth=0.8)
