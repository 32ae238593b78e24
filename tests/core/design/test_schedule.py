"""Lists of pairs: every option holds on every list, and the rest follows the design."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import chdtrc
from synthetic import delaunay_map, fit_of_draws, matrix_of, only, ring

from judgemap.core.design import schedule
from judgemap.core.design.designs import principal_component, uniform, weighted
from judgemap.core.design.schedule import ListOptions, draw_list, random_path, random_tree
from judgemap.core.model.counts import count_pairs

FALSE_ALARM = 1e-4
WEIGHTS = np.array([[0.0, 1, 2], [1, 0, 4], [2, 4, 0]])
FREE = ListOptions(connected=False, balanced_sides=False, spacing=0)


@st.composite
def lists(draw):
    """A design, the areas that a judge knows, options, and a list drawn with them."""
    n_areas = draw(st.integers(3, 14))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    weights = rng.exponential(size=(n_areas, n_areas)) ** 3
    design = draw(
        st.sampled_from(
            [uniform(n_areas), principal_component(delaunay_map(max(n_areas, 4), 3)), weighted(weights + weights.T)]
        )
    )
    known = np.sort(rng.choice(design.n_areas, size=draw(st.integers(3, design.n_areas)), replace=False))
    options = ListOptions(
        connected=draw(st.booleans()),
        balanced_sides=draw(st.booleans()),
        balanced_exposure=draw(st.booleans()),
        spacing=draw(st.integers(0, 1)),
        repeats=draw(st.sampled_from([0.0, 0.1, 0.3])),
    )
    n_pairs = draw(st.integers(2 * len(known) + 5, 60))
    return known, options, draw_list(rng, design, n_pairs, options, known).pairs, n_pairs


def planned(options, n_pairs):
    return round(options.repeats * n_pairs)


def swapped_repeats(pairs):
    """How many rows can be recognised as an earlier row with sides swapped, using each earlier row once."""
    open_rows, found = [], 0
    for left, right in pairs.tolist():
        if (right, left) in open_rows:
            open_rows.remove((right, left))
            found += 1
        else:
            open_rows.append((left, right))
    return found


@given(lists())
def test_options_hold(drawn):
    known, options, pairs, n_pairs = drawn
    assert pairs.shape == (n_pairs, 2)
    assert np.isin(pairs, known).all()
    assert np.all(pairs[:, 0] != pairs[:, 1])
    unordered = np.sort(pairs, axis=1)
    if options.spacing:
        assert np.any(unordered[1:] != unordered[:-1], axis=1).all()
    if options.connected:
        tree = pairs[: len(known) - 1]
        parts = count_pairs(tree[:, 0], tree[:, 1], int(known.max()) + 1).components()[known]
        assert len(np.unique(parts)) == 1
    if options.balanced_sides:
        left, right = (np.bincount(pairs[:, side], minlength=known.max() + 1) for side in (0, 1))
        assert abs(left - right).max() <= 1
    if options.balanced_exposure and not options.repeats:
        for length in range(1, n_pairs + 1):
            assert np.ptp(np.bincount(pairs[:length].ravel(), minlength=known.max() + 1)[known]) <= 1
    assert swapped_repeats(pairs) >= planned(options, n_pairs)


@given(st.integers(0, 2**32 - 1), st.integers(3, 9), st.integers(2, 6), st.booleans())
def test_wider_spacing_holds(seed, n_areas, spacing, balanced):
    assume(n_areas * (n_areas - 1) // 2 > spacing)
    options = ListOptions(spacing=spacing, balanced_exposure=balanced, repeats=0.2)
    pairs = np.sort(draw_list(np.random.default_rng(seed), uniform(n_areas), 60, options).pairs, axis=1)
    for gap in range(1, spacing + 1):
        assert np.any(pairs[gap:] != pairs[:-gap], axis=1).all()


def test_repeats_come_with_sides_swapped_and_the_share_is_kept():
    pairs = draw_list(np.random.default_rng(1), uniform(1_000), 400, ListOptions(repeats=0.1, connected=False)).pairs
    assert swapped_repeats(pairs) == 40
    assert len(np.unique(np.sort(pairs, axis=1), axis=0)) == 360


@pytest.mark.statistical
def test_a_list_without_options_is_drawn_from_the_design():
    design = principal_component(delaunay_map(8))
    pairs = draw_list(np.random.default_rng(1), design, 30_000, FREE).pairs
    assert fit_of_draws(pairs, matrix_of(design)) > FALSE_ALARM
    assert fit_of_draws(draw_list(np.random.default_rng(1), uniform(8), 30_000, FREE).pairs, matrix_of(design)) < 1e-12
    assert abs((pairs[:, 0] < pairs[:, 1]).mean() - 0.5) < 3.9 * 0.5 / np.sqrt(30_000)


@pytest.mark.statistical
def test_without_immediate_repeats_a_pair_follows_the_conditional_design():
    """P(b after a) = q_b/(1 − q_a): three pairs, six possible steps, χ² with 6 − 1 − 2 degrees of freedom."""
    design = weighted(WEIGHTS)
    pairs = draw_list(
        np.random.default_rng(3), design, 20_000, ListOptions(connected=False, balanced_sides=False)
    ).pairs
    kind = pairs.sum(axis=1) - 1
    q = np.array([1, 2, 4]) / 7

    def misfit(chance):
        total = 0.0
        for a in range(3):
            after = np.bincount(kind[1:][kind[:-1] == a], minlength=3)
            expected = after.sum() * np.where(np.arange(3) == a, 0, chance(a))
            assert after[a] == 0
            total += sum((after[b] - expected[b]) ** 2 / expected[b] for b in range(3) if b != a)
        return chdtrc(3, total)

    assert misfit(lambda a: q / (1 - q[a])) > FALSE_ALARM
    assert misfit(lambda a: np.full(3, 0.5)) < 1e-12


@pytest.mark.statistical
def test_sides_are_fair_when_balanced():
    """Which of two areas is shown left is a fair coin at every place of the list: binomial, limits of 1 in 10,000."""
    drawn = [draw_list(np.random.default_rng(seed), uniform(5), 8, ListOptions()).pairs for seed in range(1_000)]
    lower_left = [np.sort(pairs, axis=1) for pairs in drawn]

    def unfair(lists, place):
        first = np.mean([pairs[place, 0] < pairs[place, 1] for pairs in lists])
        return abs(first - 0.5) > 3.9 * 0.5 / np.sqrt(len(lists))

    for place in (0, 3, 7):
        assert not unfair(drawn, place)
        assert unfair(lower_left, place)


def fit_of_trees(draw, rng, design, chance, size):
    """p-value of which of three areas' three pairs trees leave out: {0,1}, {0,2} or {1,2}, with these chances."""
    kept = (set((draw(rng, design).sum(axis=1) - 1).tolist()) for _ in range(size))
    left_out = np.bincount([({0, 1, 2} - each).pop() for each in kept], minlength=3)
    assert chance.sum() == pytest.approx(1)
    return chdtrc(2, ((left_out - size * chance) ** 2 / (size * chance)).sum())


@pytest.mark.statistical
def test_random_trees_have_the_greedy_distribution():
    """The pair left out is the one that would be drawn last: P(c last) = q_a q_b (1/(1 − q_a) + 1/(1 − q_b))."""
    q, rng = np.array([1, 2, 4]) / 7, np.random.default_rng(2)
    chance = np.array([q[a] * q[b] * (1 / (1 - q[a]) + 1 / (1 - q[b])) for a, b in ((1, 2), (0, 2), (0, 1))])
    assert fit_of_trees(random_tree, rng, weighted(WEIGHTS), chance, 1_500) > FALSE_ALARM
    assert fit_of_trees(random_tree, rng, uniform(3), chance, 1_500) < 1e-12


@pytest.mark.statistical
@pytest.mark.parametrize("tries", [32, 1])
def test_random_paths_step_with_the_design(monkeypatch, tries):
    """From a uniform start, the next area by weight; both by rejection and, where that fails, by weighing all areas."""
    monkeypatch.setattr(schedule, "TRIES", tries)
    rng, step = np.random.default_rng(4), WEIGHTS / WEIGHTS.sum(axis=1, keepdims=True)
    chance = np.array([step[0, 2] + step[1, 2], step[0, 1] + step[2, 1], step[1, 0] + step[2, 0]]) / 3
    assert fit_of_trees(random_path, rng, weighted(WEIGHTS), chance, 2_000) > FALSE_ALARM
    assert fit_of_trees(random_path, rng, uniform(3), chance, 2_000) < 1e-12


def test_a_path_goes_on_where_the_design_has_no_weight():
    path = random_path(np.random.default_rng(1), only(5, *((0, area) for area in range(1, 5))))
    assert np.bincount(path.ravel(), minlength=5).tolist().count(1) == 2


APART = only(4, (0, 1), (2, 3))


@pytest.mark.parametrize(
    ("design", "n_pairs", "options", "allowed", "message"),
    [
        (uniform(76), 10, {}, None, "10 pairs cannot connect 76 areas; ask for at least 75"),
        (uniform(9), 9, {"repeats": 0.3}, None, "6 pairs besides 3 repeats cannot connect 9 areas"),
        (uniform(9), 0, {}, None, "at least one pair"),
        (uniform(9), 20, {}, [4], "only one area can be asked"),
        (uniform(9), 20, {}, [], "no area can be asked"),
        (uniform(9), 20, {}, [3, 5], "2 areas have too few pairs"),
        (uniform(4), 20, {"spacing": 6}, None, "4 areas have too few pairs"),
        (uniform(4), 3, {"repeats": 0.33, "spacing": 5, "connected": False}, None, "no room for 1 planned repeats"),
        (APART, 20, {}, None, "does not connect these 4 areas"),
        (only(4, (0, 1)), 20, {"connected": False}, None, "nearly always picks the same few pairs"),
    ],
)
def test_bad_input_is_one_clear_sentence(design, n_pairs, options, allowed, message):
    with pytest.raises(ValueError, match=message) as caught:
        draw_list(np.random.default_rng(1), design, n_pairs, ListOptions(**options), allowed)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("bad", [{"spacing": -1}, {"repeats": 0.5}, {"repeats": -0.1}])
def test_bad_options_are_refused(bad):
    with pytest.raises(ValueError, match=r"spacing is the number|planned repeats"):
        ListOptions(**bad)


def test_balance_is_kept_where_the_design_has_no_weight():
    pairs = draw_list(np.random.default_rng(1), APART, 41, ListOptions(connected=False, balanced_exposure=True)).pairs
    assert np.ptp(np.bincount(pairs.ravel())) <= 1


def test_a_list_of_a_large_map_takes_little_memory():
    tracemalloc.start()
    options = ListOptions(balanced_exposure=True, repeats=0.05)
    pairs = draw_list(np.random.default_rng(1), principal_component(ring(4_000)), 4_500, options).pairs
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(pairs) == 4_500
    assert most < 4_000**2, "bytes: a matrix of all pairs would take more, whatever is in it"
