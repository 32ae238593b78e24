"""What a worker works out after a fit: plain JSON, the library's numbers, in the order of the answers."""

import json
import math

import numpy as np

import judgemap as jm

JUDGE_KEYS = {
    "judge", "comparisons", "decided", "ties", "skipped", "unknown", "undecided", "left", "left_share", "left_low",
    "left_high", "seconds_median", "seconds_low", "seconds_high", "infit", "infit_z", "outfit", "outfit_z", "agreement",
    "agreement_low", "agreement_high", "agreement_expected", "repeats", "consistency",
    "consistency_expected", "stands_out",
}  # fmt: skip
AREA_KEYS = {"id", "wins", "losses", "win_rate", "win_low", "win_high", "riskier", "density"}


def numbers(value):
    if isinstance(value, dict):
        return [number for each in value.values() for number in numbers(each)]
    if isinstance(value, list):
        return [number for each in value for number in numbers(each)]
    return [value] if isinstance(value, float) else []


def test_it_is_plain_json_with_the_keys_it_promises(made):
    fit, findings = made["spatial"].fit, made["spatial"].fields["findings"]
    assert json.loads(json.dumps(findings, allow_nan=False)) == findings
    assert all(math.isfinite(number) for number in numbers(findings))
    assert all(set(row) == JUDGE_KEYS for row in findings["judges"])
    assert len(findings["judges"]) == 3
    assert all(set(row) == AREA_KEYS for row in findings["areas"])
    assert [row["id"] for row in findings["areas"]] == list(fit.map.ids)
    assert {"bayes", "ssr", "split_half", "split_half_full", "splits"} <= set(findings["reliability"])
    last = findings["reliability_over_time"][-1]
    assert last == {name: findings["reliability"][name] for name in last}, "the chart ends where the card is"
    ends = [max(row["density"][0], row["density"][-1]) for row in findings["areas"]]
    assert max(ends) <= 2000 / len(fit.risk) + 1, "curves have come down within the axis: at most two draws are outside"
    assert list(findings["top"]) == ["1", "3", "5", "10"], "there are sixteen areas"
    assert len(findings["risk_edges"]) == 41
    assert all(995 <= sum(row["density"]) <= 1005 for row in findings["areas"])


def test_numbers_are_the_librarys(made, said):
    fit, data, findings = made["spatial"].fit, said, made["spatial"].fields["findings"]
    table = jm.judge_table(fit, data)
    for name in ("comparisons", "left_share", "infit", "outfit", "agreement", "seconds_median"):
        np.testing.assert_allclose([row[name] for row in findings["judges"]], table[name], rtol=1e-4)
    counts = data.counts()
    played = [row["wins"] + row["losses"] for row in findings["areas"]]
    assert played == counts.per_area().tolist()
    np.testing.assert_array_equal(findings["top"]["5"], fit.p_top(5))
    assert sum(won for area in findings["met"] for _, won, _ in area) == fit.record.data.comparisons
    surprising = jm.surprising_answers(fit, data)
    assert [each["chosen"] for each in findings["surprises"]] == surprising["chosen"].tolist()
