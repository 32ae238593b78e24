"""What commands refuse: status 2, one sentence and no traceback, nothing printed, and the folder as it was.

Each row is a mistake that only its command can find, or stands for those that the layers below test.
"""

from pathlib import Path

import pytest

MAP = "--edges edges.csv --area-names areas.csv"
FIT = f"fit comparisons.csv {MAP} -o results --draws 50"
CLUSTERS = f"{FIT} --model clusters --warmup 50"
PLAN = f"plan {MAP} --judges 3 --per-judge 8 --simulations 6 --designs uniform --cores 1 -o results.html"
LIST = f"schedule {MAP} --pairs 30 --seed 1 -o list.csv"
SIMULATE = f"simulate scheduling {MAP} -o results"
REFUSED = {
    "fit none.csv --edges edges.csv -o results": "none.csv: there is no such file",
    "fit comparisons.csv -o results": "no areas were given; add --areas MAP, or --edges",
    "fit comparisons.csv --areas map.txt -o results": "map.txt: maps are read from",
    "fit comparisons.csv --area-names areas.csv --areas x.gpkg -o results": "--area-names is for use without a map",
    "fit strange.csv --edges edges.csv -o results": "strange.csv line 3: area 'Oak' is not in the list of areas",
    f"{FIT} --winner-is worse": "the winner's rate is 'lower' or 'higher', not",
    f"{FIT} --prior exponential": "these areas come from an edge list and have",
    f"{FIT} --model x": "there is no model 'x'",
    f"{FIT} --clusters 2": "needs --model clusters",
    f"{FIT} --sensitivity chi=1 --alpha 2": "which --alpha fixes",
    f"{FIT} -o .": "is not empty and holds no fit",
    f"{CLUSTERS} --clusters 9": "6 areas cannot make 9 clusters",
    f"{CLUSTERS} --sensitivity b=1": "there is no hyperparameter 'b'",
    f"{PLAN} --judges 0": "the number of judges must be at least 1, not 0",
    f"{PLAN} --designs ,": "no design was named; the designs are",
    f"{PLAN} --pilot nowhere": "nowhere holds no fit",
    f"{PLAN} -o plan.pdf": "plan.pdf: a plan is an .html page",
    f"{PLAN} -o nowhere/plan.html": "there is no folder nowhere to write plan.html into",
    f"{PLAN} -o .": ".: a plan is an .html page",
    f"{LIST} --knows strange.csv": "strange.csv line 3: area 'Oak' is not in the list of areas",
    f"{LIST} --design adaptive": "the adaptive design chooses each pair after the last answer",
    f"{LIST} --repeats 0.9": "planned repeats may be up to a third of the list, received 0.9",
    f"{LIST} --picture nowhere/asked.svg": "there is no folder nowhere to write asked.svg into",
    f"{LIST} -o areas.csv": "is a file that this command reads; name another one for the result",
    f"{LIST} --picture ./edges.csv": "is a file that this command reads; name another one for the result",
    f"{LIST} -o comparisons.csv": "comparisons.csv is there already",
    f"{SIMULATE} --sets 0": "at least one set to simulate, not 0",
    f"{SIMULATE} --cluster here": "a cluster's address looks like tcp://10.0.0.1:8786, not here",
    f"prior {MAP} --of Cedr -o p.svg": "did you mean 'Cedar'",
    f"prior {MAP} --of Elm -o p.doc": ".svg",
    "import speedybbt none.rda -o out": "there is no such file",
}


@pytest.mark.usefixtures("edges", "comparisons")
@pytest.mark.parametrize("words", REFUSED)
def test_a_mistake_is_one_sentence_and_changes_nothing(judgemap, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    Path("map.txt").write_text("hello")
    Path("strange.csv").write_text("judge,left,right,outcome,area\n1,1,2,left,Ash\n1,1,Oak,left,Oak\n")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    result = judgemap(*words.split())
    assert result.status == 2, result.out
    assert result.err.startswith("judgemap: ")
    assert REFUSED[words] in result.err
    assert result.err.count("\n") == 1, "one sentence, no traceback"
    assert result.out == ""
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before, "no half-written output"
