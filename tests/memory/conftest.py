"""A memory of one's own, in a folder of one's own."""

import pytest

from probes.memory import Memory


@pytest.fixture
def memory(reports):
    """The default one, not there before."""
    with Memory.open() as opened:
        yield opened
        assert opened.errors == 0
