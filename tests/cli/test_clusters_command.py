import csv
import json

import judgemap as jm

SHORT = ["--chains", "2", "--warmup", "50", "--draws", "50", "--thin", "1", "--seed", "1"]


def test_clusters_are_written_and_told(judgemap, edges, comparisons, tmp_path):
    result = judgemap("fit", comparisons, *edges, "--model", "clusters", "-o", tmp_path / "results", *SHORT)
    assert result.status == 0, result.err
    assert "by probability, " in result.out, "the number of clusters is a distribution"
    assert "Exactly this grouping has" in result.out, "a partition comes with its probability"
    assert "highest risk" not in result.out.split("by probability, ")[1], "no cluster is called that"
    assert (tmp_path / "results" / "clusters.csv").exists()
    assert isinstance(jm.load_fit(tmp_path / "results"), jm.ClusterFit)


def test_a_chosen_number_and_json(judgemap, edges, comparisons, tmp_path):
    words = ["fit", comparisons, *edges, "--model", "clusters", *SHORT, "--clusters", "2", "--json"]
    result = judgemap(*words, "-o", tmp_path / "results")
    settings = json.loads(result.out)["settings"]
    assert (settings["clusters"], settings["loss"]) == (2, "vi")
    assert jm.load_fit(tmp_path / "results").best.n_clusters == 2


def test_sensitivity_is_tabulated(judgemap, edges, comparisons, tmp_path):
    words = ["fit", comparisons, *edges, "--model", "clusters", *SHORT]
    result = judgemap(*words, "--sensitivity", "beta=1e-8,1", "--sensitivity", "a0=2", "-o", tmp_path / "results")
    assert result.status == 0, result.err
    rows = (tmp_path / "results" / "sensitivity.csv").read_text().splitlines()
    assert len(rows) == 5
    assert rows[0].startswith("parameter,value,likeliest_n")
    assert "adjusted_rand" in result.out


def test_sensitivity_of_the_spatial_model_is_tabulated(judgemap, edges, comparisons, tmp_path):
    words = ["fit", comparisons, *edges, "--as-in-paper", "--draws", "50", "--chains", "2", "--seed", "1"]
    result = judgemap(*words, "--sensitivity", "both=0.1,1", "--sensitivity", "omega=10", "-o", tmp_path / "results")
    assert result.status == 0, result.err
    with (tmp_path / "results" / "sensitivity.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["parameter"], row["chi"], row["omega"]) for row in rows] == [
        ("(as fitted)", "0.1", "0.1"), ("both", "0.1", "0.1"), ("both", "1.0", "1.0"), ("omega", "0.1", "10.0"),
    ]  # fmt: skip
    assert float(rows[3]["alpha2"]) > float(rows[0]["alpha2"])


def refused(result, sentence, folder):
    assert result.status == 2
    assert sentence in result.err
    assert result.err.count("\n") == 1
    assert not (folder / "results").exists()
