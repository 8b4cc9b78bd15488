"""Old names of the front door still work, with a warning that says what to write."""

from __future__ import annotations

import warnings

import pytest

import cepkit as ck
from cepkit.deprecated import OLD_NAMES


def warned(action):
    """Return what an action returns, and its warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DeprecationWarning)
        result = action()
    (warning,) = caught
    assert warning.category is DeprecationWarning
    assert warning.filename == __file__, "a notebook shows a warning only if it is of its own line"
    return result, str(warning.message)


@pytest.mark.parametrize("name", OLD_NAMES)
def test_old_name_warns_and_is_in_no_list(name):
    _, message = warned(lambda: getattr(ck, name))
    assert message.startswith(f"cepkit.{name} is an old name: write {OLD_NAMES[name][0]}")
    assert name not in dir(ck)
    assert name not in ck.__all__


def test_old_name_imported_by_name_warns():
    with pytest.warns(DeprecationWarning, match="write stream.replay"):
        from cepkit import replay  # noqa: F401


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'share_plan'"):
        _ = ck.share_plan


def test_replay_is_a_method_of_a_stream(tmp_path):
    stream = ck.events(ck.sample_stocks(50), time="ts", type="ticker")
    replay, _ = warned(lambda: ck.replay)
    assert (
        replay(stream, tmp_path / "in", speed=10).files
        == stream.replay(tmp_path / "other", speed=10).files
    )
