import csv

import judgemap as jm

SHORT = ["--chains", "2", "--draws", "50", "--seed", "1"]


def rows_of(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def test_clusters_are_written_and_told_with_their_sensitivity(judgemap, edges, comparisons, tmp_path):
    words = ["fit", comparisons, *edges, "--model", "clusters", "--warmup", "50", "--thin", "1", *SHORT]
    result = judgemap(*words, "--sensitivity", "beta=1e-8,1", "--sensitivity", "a0=2", "-o", tmp_path / "results")
    assert result.status == 0, result.err
    assert "by probability, " in result.out, "the number of clusters is a distribution"
    assert "Exactly this grouping has" in result.out, "a partition comes with its probability"
    assert isinstance(jm.load_fit(tmp_path / "results"), jm.ClusterFit)
    assert [row["parameter"] for row in rows_of(tmp_path / "results" / "sensitivity.csv")] == [
        "(as fitted)", "beta", "beta", "a0",
    ]  # fmt: skip
    assert "adjusted_rand" in result.out


def test_sensitivity_of_the_spatial_model_is_tabulated(judgemap, edges, comparisons, tmp_path):
    words = ["fit", comparisons, *edges, "--as-in-paper", *SHORT]
    result = judgemap(*words, "--sensitivity", "both=0.1,1", "--sensitivity", "omega=10", "-o", tmp_path / "results")
    assert result.status == 0, result.err
    rows = rows_of(tmp_path / "results" / "sensitivity.csv")
    assert [(row["parameter"], row["chi"], row["omega"]) for row in rows] == [
        ("(as fitted)", "0.1", "0.1"), ("both", "0.1", "0.1"), ("both", "1.0", "1.0"), ("omega", "0.1", "10.0"),
    ]  # fmt: skip
