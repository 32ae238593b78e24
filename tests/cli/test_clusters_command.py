import json

import judgemap as jm

SHORT = ["--chains", "2", "--warmup", "50", "--draws", "50", "--thin", "1", "--seed", "1"]


def test_clusters_are_written_and_told(judgemap, edges, comparisons, tmp_path):
    result = judgemap("fit", comparisons, *edges, "--model", "clusters", "-o", tmp_path / "results", *SHORT)
    assert result.status == 0, result.err
    assert "1 = highest risk (number of clusters:" in result.out
    assert (tmp_path / "results" / "clusters.csv").exists()
    assert isinstance(jm.load_fit(tmp_path / "results"), jm.ClusterFit)


def test_a_chosen_number_and_json(judgemap, edges, comparisons, tmp_path):
    words = ["fit", comparisons, *edges, "--model", "clusters", *SHORT, "--clusters", "2", "--json"]
    result = judgemap(*words, "-o", tmp_path / "results")
    assert json.loads(result.out)["partition"] == {"n_clusters": 2, "loss": "vi"}
    assert jm.load_fit(tmp_path / "results").best.n_clusters == 2


def test_sensitivity_is_tabulated(judgemap, edges, comparisons, tmp_path):
    words = ["fit", comparisons, *edges, "--model", "clusters", *SHORT]
    result = judgemap(*words, "--sensitivity", "beta=1e-8,1", "--sensitivity", "a0=2", "-o", tmp_path / "results")
    assert result.status == 0, result.err
    rows = (tmp_path / "results" / "sensitivity.csv").read_text().splitlines()
    assert len(rows) == 5
    assert rows[0].startswith("parameter,value,likeliest_n")
    assert "adjusted_rand" in result.out


def refused(result, sentence, folder):
    assert result.status == 2
    assert sentence in result.err
    assert result.err.count("\n") == 1
    assert not (folder / "results").exists()


def test_bad_options(judgemap, edges, comparisons, tmp_path):
    words = ["fit", comparisons, *edges, "-o", tmp_path / "results", *SHORT]
    refused(
        judgemap(*words, "--model", "clusters", "--beta", "0"), "beta of the cluster prior must be a positive", tmp_path
    )
    refused(judgemap(*words, "--model", "clusters", "--affinity", "near"), "there is no affinity 'near'", tmp_path)
    refused(judgemap(*words, "--model", "clusters", "--clusters", "9"), "6 areas cannot make 9 clusters", tmp_path)
    refused(judgemap(*words, "--model", "clusters", "--loss", "rand"), "there is no loss 'rand'", tmp_path)
    refused(judgemap(*words, "--model", "clusters", "--sensitivity", "b=1"), "there is no hyperparameter 'b'", tmp_path)
    refused(judgemap(*words, "--clusters", "2"), "belong to --model clusters", tmp_path)
