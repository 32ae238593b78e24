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


def test_studies_are_found_by_title(owned, clients):
    assert "Wards" in clients["owner"].get("/studies/", {"q": "WARD"}).content.decode()
    nothing = clients["owner"].get("/studies/", {"q": "zebra\0<b>"}).content.decode()
    assert "No title contains “zebra&lt;b&gt;”" in nothing
    assert "Show all" in nothing


def test_a_page_that_is_not_there_leads_home(clients):
    lost = clients["owner"].get("/nothing/here")
    assert lost.status_code == 404
    assert 'href="/studies/"' in lost.content.decode()
    assert 'href="/"' in clients["anonymous"].get("/nothing/here").content.decode()
