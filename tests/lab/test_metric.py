"""Estimates of Sim beside what is counted: what is known of documents helps."""

import numpy as np
import pytest

from tidegate.documents.dtd import parse_dtd
from tidegate.lab.metric import MEDIA, accuracies, definitions, rank_correlation


def test_a_synopsis_estimates_better_than_a_dtd_alone() -> None:
    found = {a.guide: a for a in accuracies("media", parse_dtd(MEDIA), filters=24, documents=150)}
    assert len(found) == 6
    assert found["both, opposition"].correlation > 0.7
    assert found["both, opposition"].error < found["DTD"].error
    assert found["both, opposition"].correlation > found["DTD"].correlation
    assert all(a.pairs == 24 * 23 for a in found.values())


def test_rank_correlation_is_that_of_ranks() -> None:
    one, other = np.array([1.0, 5.0, 2.0, 2.0]), np.array([10.0, 30.0, 20.0, 25.0])
    by_hand = np.corrcoef([1, 4, 2.5, 2.5], [1, 4, 2, 3])[0, 1]
    assert rank_correlation(one, other) == pytest.approx(by_hand)
    assert rank_correlation(one, np.ones(4)) == 0


def test_there_are_three_types_of_documents() -> None:
    assert list(definitions()) == ["news", "media", "made up"]
