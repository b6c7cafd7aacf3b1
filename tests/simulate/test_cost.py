from dataclasses import fields

import pytest

from tidegate.overlay.work import Work
from tidegate.simulate.cost import FREE, CostModel, calibrate


def test_every_unit_of_work_has_its_cost() -> None:
    for unit in fields(Work):
        assert CostModel().of(Work(**{unit.name: 3})) == 3 * getattr(CostModel(), unit.name)
        assert CostModel().of(Work(**{unit.name: 3})) > 0
        assert FREE.of(Work(**{unit.name: 3})) == 0


@pytest.mark.slow
def test_a_machine_can_be_calibrated() -> None:
    found = calibrate(200)
    assert not found.measured
    assert min(found.inserts, found.removals, found.questions, found.merged, found.events) > 0
    assert found.bytes > 0
