"""The list of studies."""


def test_a_researcher_sees_own_and_shared_studies_only(owned, clients):
    assert "Wards" in clients["owner"].get("/studies/").content.decode()
    shared = clients["teammate"].get("/studies/").content.decode()
    assert "Wards" in shared
    assert "shared with you" in shared
    assert "Wards" not in clients["stranger"].get("/studies/").content.decode()


def test_somebody_new_is_told_how_to_begin(clients):
    assert "Make your first study" in clients["stranger"].get("/").content.decode()


def test_it_asks_for_a_sign_in(clients):
    assert clients["anonymous"].get("/").status_code == 302
    assert clients["owner"].post("/studies/").status_code == 405
