"""The export, as a researcher downloads it."""

import csv
import io
import zipfile

from judgemap.web.studies.models import Act


def test_the_zip_file_has_the_answers(owned, clients, judge, people):
    judge.answer("left")
    response = clients["teammate"].post(f"/studies/{owned.slug}/export")
    assert response["Content-Disposition"] == 'attachment; filename="wards.zip"'
    with zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content))) as archive:
        rows = list(csv.DictReader(io.StringIO(archive.read("comparisons.csv").decode())))
    assert [row["outcome"] for row in rows] == ["left", "unknown"]
    response.close()
    assert Act.objects.filter(verb="exported", researcher=people["teammate"]).count() == 1
