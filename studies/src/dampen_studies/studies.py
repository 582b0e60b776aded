"""All studies: those of the paper in its order, then those beyond it."""

import runpy
from functools import cache
from pathlib import Path
from typing import Any

from dampen.errors import ParameterError, did_you_mean
from dampen_studies.experiments import (
    accuracy_bounds,
    beta,
    bins,
    caution,
    centralities,
    correlation,
    examples,
    found,
    groups,
    key_names,
    labels,
    long_lists,
    many,
    models,
    names,
    nodes,
    numbers,
    peers,
    people,
    people_values,
    percentiles,
    privatesql,
    raw_groups,
    regression,
    roots,
    several_labels,
    shift,
    split,
    sweep,
    topk,
    trees,
    two_stages,
    unbounded,
    undeclared,
)
from dampen_studies.study import Study

PAPER: tuple[Study, ...] = (
    examples.STUDY,
    beta.STUDY,
    correlation.STUDY,
    percentiles.STUDY,
    topk.STUDY,
    privatesql.STUDY,
    trees.STUDY,
    roots.STUDY,
)
"""Those of the paper, in its order."""

BEYOND: tuple[Study, ...] = (
    labels.STUDY,
    shift.STUDY,
    nodes.STUDY,
    sweep.STUDY,
    centralities.STUDY,
    centralities.GROWING,
    two_stages.STUDY,
    several_labels.STUDY,
    peers.STUDY,
    many.STUDY,
    long_lists.STUDY,
    long_lists.RULE,
    accuracy_bounds.STUDY,
    unbounded.STUDY,
    found.RANGES,
    found.GROUPS,
    found.KEYS,
    split.STUDY,
    groups.STUDY,
    caution.STUDY,
    numbers.ABOVE,
    numbers.NUMBERS,
    numbers.UNBOUNDED_NUMBERS,
    numbers.MEASURED,
    people.STUDY,
    people_values.STUDY,
    names.STUDY,
    key_names.STUDY,
    raw_groups.STUDY,
    models.MODELS,
    models.CRITERIA_STUDY,
    models.RIVALS_STUDY,
    bins.STUDY,
    regression.STUDY,
    undeclared.STUDY,
)
"""Those behind the defaults of the library."""

ALL: tuple[Study, ...] = (*PAPER, *BEYOND)
LOSSES: tuple[Study, ...] = (
    long_lists.RULE,
    accuracy_bounds.STUDY,
    unbounded.STUDY,
    caution.STUDY,
    centralities.GROWING,
    key_names.STUDY,
    bins.STUDY,
    undeclared.STUDY,
    models.RIVALS_STUDY,
    regression.STUDY,
)
"""Those that measure what was aimed at and may not be reached."""
SETS = {"paper": PAPER, "beyond": BEYOND, "losses": LOSSES}
"""Several studies by one name."""


FILES: dict[str, str] = {}
"""Where studies of somebody else's paper lie, by their names."""


def location(study: Study) -> str:
    """What `named` finds a study by, in any process."""
    return FILES.get(study.name, study.name)


@cache
def defined(file: str) -> dict[str, Any]:
    """What a Python file defines: STUDY, and CLAIMS if it has some.  It is run: trust it.

    Raises:
        ParameterError: if it is not there or defines no STUDY.
    """
    if not Path(file).is_file():
        raise ParameterError(f"Expected {file} to be a file that defines STUDY; it is not there.")
    found = runpy.run_path(file)
    study = found.get("STUDY")
    if not isinstance(study, Study):
        raise ParameterError(f"Expected {file} to define STUDY, a dampen_studies.study.Study.")
    FILES[study.name] = file
    return found


def named(name: str) -> Study:
    """The study of that name, or the one that a Python file defines.

    Raises:
        ParameterError: if there is none; says which name is close.
    """
    if name.endswith(".py"):
        own: Study = defined(name)["STUDY"]
        return own
    for study in ALL:
        if study.name == name:
            return study
    names = [*SETS, *(study.name for study in ALL)]
    raise ParameterError(
        f"Expected a study, one of {', '.join(names)}, got {name!r}.{did_you_mean(name, names)}"
    )
