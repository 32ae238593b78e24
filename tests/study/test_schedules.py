import numpy as np
import pandas as pd
import pytest
from scipy.special import chdtrc

import judgemap as jm
from judgemap.core.design import designs
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import communicability
from judgemap.study.plan.schedules import DESIGNS, known_around, read_known, read_weights

FREE = jm.ListOptions(connected=False, balanced_sides=False, spacing=0)


@pytest.fixture
def ring():
    """Twelve areas in a circle; two are called alike."""
    names = (*(f"Ward {i}" for i in range(1, 11)), "Park", "Park")
    return jm.Areas(tuple(f"w{i}" for i in range(12)), names, AreaGraph(12, [[i, (i + 1) % 12] for i in range(12)]))


@pytest.mark.parametrize("design", DESIGNS)
def test_table_and_file(ring, tmp_path, design):
    drawn = jm.schedule(ring, design, 60, seed=1)
    frame = drawn.to_frame()
    assert list(frame.columns) == ["position", "left", "right", "left_name", "right_name", "probability"]
    assert frame["position"].tolist() == list(range(1, 61))
    assert [ring.names[ring.ids.index(each)] for each in frame["left"]] == frame["left_name"].tolist()
    again = pd.read_csv(drawn.save(tmp_path / "schedule.csv"))
    assert again.drop(columns="probability").equals(frame.drop(columns="probability"))
    np.testing.assert_allclose(again["probability"], frame["probability"], rtol=1e-7)
    assert [path.name for path in tmp_path.iterdir()] == ["schedule.csv"]


def test_probabilities_are_the_designs(ring):
    drawn = jm.schedule(ring, "principal", 60, seed=1)
    C = communicability(ring.graph).matrix
    q = (1 - C) / (1 - C)[np.triu_indices(12, 1)].sum()
    np.testing.assert_allclose(drawn.probability, q[drawn.pairs[:, 0], drawn.pairs[:, 1]])
    np.testing.assert_allclose(drawn.expected(), 60 * q.sum(axis=1) - 60 * np.diag(q))
    assert drawn.asked().sum() == 120


def test_the_same_seed_gives_the_same_list(ring):
    one, two, other = (jm.schedule(ring, "naive", 40, seed=seed).to_frame() for seed in (3, 3, 4))
    assert one.equals(two)
    assert not one.equals(other)


def p_value(drawn, design, areas):
    """Pearson's χ² of a list against the pairs' probabilities under another design."""
    i, j = np.triu_indices(len(areas), 1)
    keys = drawn.pairs.min(axis=1) * len(areas) + drawn.pairs.max(axis=1)
    counts = np.bincount(keys, minlength=len(areas) ** 2)[i * len(areas) + j]
    expected = len(drawn) * jm.schedule(areas, design, 1, seed=1, options=FREE).design.probability(i, j)
    return chdtrc(len(i) - 1, ((counts - expected) ** 2 / expected).sum())


@pytest.mark.statistical
@pytest.mark.parametrize("design", ["uniform", "naive", "principal"])
def test_lists_follow_their_designs(ring, design):
    """False alarms 1e-4 each; the planted bug is a list from another design."""
    drawn = jm.schedule(ring, design, 30_000, seed=5, options=FREE)
    assert p_value(drawn, design, ring) > 1e-4
    other = "uniform" if design == "principal" else "principal"
    assert p_value(drawn, other, ring) < 1e-12


def test_a_judge_is_asked_only_known_areas(ring):
    drawn = jm.schedule(ring, "principal", 20, seed=1, knows=["w3", "Ward 1", "w7", "w7"])
    assert set(np.unique(drawn.pairs)) == {0, 3, 7}
    whole = jm.schedule(ring, "principal", 20, seed=1).design
    within = whole.probability(0, 3) + whole.probability(0, 7) + whole.probability(3, 7)
    np.testing.assert_allclose(drawn.design.probability(0, 3), whole.probability(0, 3) / within)


def test_planned_repeats_are_marked_and_swapped(ring, tmp_path):
    drawn = jm.schedule(ring, "uniform", 100, seed=1, options=jm.ListOptions(repeats=0.1, balanced_exposure=True))
    frame = drawn.to_frame()
    repeats = frame[frame["repeat_of"].notna()]
    assert len(repeats) == 10
    earlier = frame.set_index("position").loc[repeats["repeat_of"].astype(int)]
    assert earlier["left"].tolist() == repeats["right"].tolist()
    assert earlier["right"].tolist() == repeats["left"].tolist()
    assert (repeats["repeat_of"].astype(int) < repeats["position"]).all()
    again = pd.read_csv(drawn.save(tmp_path / "schedule.csv"))
    np.testing.assert_array_equal(again["repeat_of"].fillna(0), drawn.repeat_of)


def test_a_design_of_ones_own(ring, tmp_path):
    path = tmp_path / "weights.csv"
    path.write_text("area_a,area_b,weight\nw0,Ward 2,3\nw5,w1,1\nw5,w0,0\n")
    drawn = jm.schedule(ring, read_weights(path, ring), 4_000, seed=1, options=FREE)
    assert drawn.design.probability(0, 1) == 0.75
    assert (drawn.asked() > 0).sum() == 3
    assert drawn.name == "weights"


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ("area\nWard 99\n", "list.csv line 2: area 'Ward 99' is not"),
        ("place\nw1\n", "list.csv: there is no column 'area'"),
        ("area\n", "list.csv: there is a header but there are no rows"),
        ("area_a,area_b,weight\nw0,w1,0\nw1,w2,0\n", "list.csv: all weights are zero"),
        ("area_a,area_b,weight\nw0,w1,-1\n", "list.csv line 2: '-1' is not a weight"),
        ("area_a,area_b,weight\nw0,w1,nan\n", "list.csv line 2: 'nan' is not a weight"),
        ("area_a,area_b,weight\nw0,w1,many\n", "list.csv line 2: 'many' is not a weight"),
        ("area_a,area_b,weight\nw0,w0,1\n", "list.csv line 2: 'w0' is paired with itself"),
        ("area_a,area_b,weight\nw0,w1,1\nw1,w0,1\n", "list.csv line 3: this pair appears more than once"),
        ("area_a,area_b,weight\nw0,w99,1\n", "list.csv line 2: area 'w99' is not"),
        ("area_a,area_b,weight\nw0,Park,1\n", "list.csv line 2: 2 areas are called 'Park'"),
        ("area_a,area_b\nw0,w1\n", "list.csv: there is no column 'weight'"),
    ],
)
def test_bad_weights_and_bad_lists_of_known_areas(ring, tmp_path, table, sentence):
    path = tmp_path / "list.csv"
    path.write_text(table)
    with pytest.raises(jm.StudyError) as error:
        (read_weights if table.startswith("area_a") else read_known)(path, ring)
    assert str(error.value).startswith(sentence)


def test_zero_for_all_that_a_judge_knows(ring, tmp_path):
    path = tmp_path / "weights.csv"
    path.write_text("area_a,area_b,weight\nw0,w1,3\n")
    with pytest.raises(jm.StudyError, match="zero weight to every pair of these 2 areas"):
        jm.schedule(ring, read_weights(path, ring), 5, seed=1, knows=["w4", "w5"])


@pytest.mark.parametrize("column", ["area", "id", "name"])
def test_known_areas_from_a_file(ring, tmp_path, column):
    path = tmp_path / "knows.csv"
    path.write_text(f"{column}\nWard 2\nw5\n")
    assert read_known(path, ring) == ["w1", "w5"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"pairs": 10}, "10 pairs cannot connect 12 areas; ask for at least 11"),
        ({"pairs": 0}, "a list needs at least one pair, received 0"),
        ({"knows": ["w1"]}, "a pair needs two different areas, but only one area can be asked"),
        ({"knows": []}, "a pair needs two different areas, but no area can be asked"),
        ({"knows": ["w1", "w99"]}, "area 'w99' is not in the list of areas"),
        ({"design": "principle"}, "there is no design 'principle' (did you mean 'principal'?)"),
        ({"design": "adaptive"}, "the adaptive design chooses each pair after the last answer, so it has no list"),
        ({"design": "optimal", "alpha": -1.0}, "α must be a positive number"),
        ({"design": "uniform", "panel": (4, 0.7)}, "judges: only the optimal design takes account of judges"),
        ({"design": "optimal", "panel": (4, 0.0)}, "judges: needs at least 1 judge"),
    ],
)
def test_mistakes_are_one_sentence(ring, arguments, sentence):
    with pytest.raises(jm.StudyError) as error:
        jm.schedule(ring, **{"pairs": 60, "seed": 1, **arguments})
    assert str(error.value).startswith(sentence)
    assert "\n" not in str(error.value)


def test_the_optimal_design_is_refused_on_a_large_map_at_once():
    ids = tuple(map(str, range(2_001)))
    areas = jm.Areas(ids, ids, AreaGraph(2_001, [[i, i + 1] for i in range(2_000)]))
    said = "2,001 areas are too many: the optimal design can be computed for up to 2,000"
    with pytest.raises(jm.StudyError, match=said):
        jm.schedule(areas, "optimal", 3_000, seed=1)
    assert len(jm.schedule(areas, "uniform", 3_000, seed=1)) == 3_000


@pytest.mark.parametrize(("path", "said"), [("", "is a folder; name a file"), ("nowhere/a.csv", "there is no folder")])
def test_a_file_that_cannot_be_written(ring, tmp_path, path, said):
    with pytest.raises(jm.StudyError, match=said):
        jm.schedule(ring, "uniform", 20, seed=1).save(tmp_path / path)


def test_a_core_design_is_taken_as_it_is(ring):
    assert jm.schedule(ring, designs.uniform(12), 20, seed=1).design.base == 1.0


def test_a_panel_of_judges_who_differ_has_a_design_of_its_own():
    ids = tuple("12345678")
    row, pairs = jm.Areas(ids, ids, AreaGraph(8, [[i, i + 1] for i in range(7)])), np.triu_indices(8, 1)
    both = (jm.schedule(row, "optimal", 200, seed=1, panel=panel) for panel in (None, (4, 0.7)))
    alone, shared = (drawn.design.probability(*pairs) for drawn in both)
    assert np.abs(alone - shared).max() > 0.001


@pytest.mark.parametrize("design", ["principal", "optimal", "uniform"])
def test_what_a_judge_knows_of_a_large_map(ring, monkeypatch, design):
    """The same probabilities as from the whole map, without looking at it; optimal: for these areas alone."""
    knows = known_around(ring, "w3", 5)
    whole = jm.schedule(ring, design, 40, seed=1, knows=knows)
    monkeypatch.setattr("judgemap.study.plan.schedules.OPTIMAL_LIMIT", 6)
    local = jm.schedule(ring, design, 40, seed=1, knows=knows)
    assert set(local.left) | set(local.right) == {"w1", "w2", "w3", "w4", "w5"}
    first, second = np.triu_indices(5, 1)
    pairs = [np.array([1, 2, 3, 4, 5])[each] for each in (first, second)]
    assert local.design.probability(*pairs).sum() == pytest.approx(1)
    if design != "optimal":
        assert np.allclose(local.design.probability(*pairs), whole.design.probability(*pairs), atol=1e-9)


def test_a_home_without_neighbours(ring):
    alone = jm.Areas(("a", "b"), ("Ash", "Beech"), AreaGraph(2, []))
    with pytest.raises(jm.StudyError, match="'Ash' has no neighbours"):
        known_around(alone, "Ash", 10)
    with pytest.raises(jm.StudyError, match="at least 2 areas around home, not 1"):
        known_around(ring, "w1", 1)
