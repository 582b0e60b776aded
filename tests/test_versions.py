"""What is installed, for reports."""

import numpy as np
import pytest

import dampen


def test_versions_of_the_library_and_of_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    dampen.show_versions()
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["dampen"] == dampen.__version__
    assert lines["numpy"] == np.__version__
    assert {"kernels", "pyarrow", "scikit-learn", "pandas", "python"} <= set(lines)
    assert "missing" not in lines.values()
