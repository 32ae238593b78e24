"""Every address of the study server, by who uses it."""

from allauth.account import views as allauth_views
from django.urls import URLPattern, include, path, re_path, register_converter

from judgemap.web.accounts import views as accounts
from judgemap.web.api import tokens
from judgemap.web.api.endpoints import interface
from judgemap.web.dashboard import live
from judgemap.web.judge import answering, ground, pages
from judgemap.web.people import inviting
from judgemap.web.results import beside, checks, compare, files, fits, judges, planning, reading, risk_map
from judgemap.web.server.health import healthz
from judgemap.web.studies.basemap import pages as base_map
from judgemap.web.studies.basemap.pictures import PlacesConverter
from judgemap.web.studies.pages import maps, studies, texts
from judgemap.web.studies.upload import pages as upload

register_converter(PlacesConverter, "places")
STUDY = "studies/<slug:slug>/"
DASHBOARD = STUDY + "dashboard"
FITS = STUDY + "fits/"
FIT = FITS + "<int:number>/"
KEY = r"^account/password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$"
NAMED: dict[str, list[URLPattern]] = {
    "judge": [
        path("j/<slug:token>/", pages.home, name="home"),
        path("j/<slug:token>/consent", pages.consent, name="consent"),
        path("j/<slug:token>/answer", pages.answer, name="answer"),
        path("j/<slug:token>/last", pages.last, name="last"),
        path("j/<slug:token>/begin", pages.acting(answering.end_practice), name="end_practice"),
        path("j/<slug:token>/go-on", pages.acting(answering.go_on), name="go_on"),
        path("j/<slug:token>/language", pages.language, name="language"),
        path("j/<slug:token>/areas", pages.areas, name="areas"),
        path("j/<slug:token>/places", pages.places, name="places"),
        path("j/<slug:token>/link", pages.link, name="link"),
        path("j/<slug:token>/jump", pages.jump, name="jump"),
        path("j/<slug:token>/tiles/<int:key>/<places:places>", ground.tiles, name="tiles"),
        path("j/<slug:token>/ground/<int:key>/<int:position>.svg", ground.ground_picture, name="picture"),
        path("s/<slug:code>/", pages.join, name="join"),
        path("withdraw", pages.withdraw, name="withdraw"),
    ],
    "inviting": [
        path("try/<slug:slug>/", inviting.preview, name="preview"),
        path(STUDY + "judges", inviting.judges, name="judges"),
        path(STUDY + "judges/groups", inviting.groups, name="groups"),
        path(STUDY + "judges/reminders", inviting.reminders, name="reminders"),
        path(STUDY + "judges.csv", inviting.links_csv, name="links_csv"),
        path(STUDY + "export", inviting.export, name="export"),
    ],
    "studies": [
        path("", studies.list_studies),
        path("studies/", studies.list_studies, name="list"),
        path(STUDY, studies.overview, name="overview"),
        path(STUDY + "map", maps.show_map, name="map"),
        path(STUDY + "map/areas/<int:position>", maps.area, name="area"),
        path(STUDY + "map-<int:key>.svg", maps.plain_picture, name="picture"),
        path(STUDY + "shapes/<int:key>/<int:level>/<int:x>/<int:y>", maps.tile, name="shapes"),
        path(STUDY + "base-map", base_map.change, name="base_map"),
        path(STUDY + "base-map/news", base_map.news, name="base_map_news"),
        path(STUDY + "base-map/<int:key>.svg", base_map.whole, name="whole"),
        path(STUDY + "texts", texts.texts, name="texts"),
        path(STUDY + "texts/<slug:language>", texts.translate, name="translate"),
        path(STUDY + "imprint", texts.imprint, name="imprint"),
        path(STUDY + "judging", texts.judging, name="judging"),
        path(STUDY + "status", studies.status, name="status"),
        path(STUDY + "open", studies.opening, name="open"),
        path(STUDY + "close", studies.close, name="close"),
        path(STUDY + "reopen", studies.reopen, name="reopen"),
        path(STUDY + "delete", studies.delete, name="delete"),
        path(STUDY + "undelete", studies.undelete, name="undelete"),
        path(STUDY + "duplicate", studies.duplicate, name="duplicate"),
        path(STUDY + "colleagues", studies.colleagues, name="colleagues"),
        path(STUDY + "share", studies.share, name="share"),
        path(STUDY + "log", studies.log, name="log"),
        path(STUDY + "study.toml", studies.definition, name="definition"),
        path("new/", upload.upload, name="upload"),
        path("new/<int:upload>/", upload.columns, name="columns"),
        path("making/<int:draft>/", upload.making, name="making"),
        path("making/<int:draft>/cancel", upload.cancel, name="cancel"),
        path("markdown", texts.markdown, name="markdown"),
    ],
    "dashboard": [
        path(DASHBOARD, live.live, name="live"),
        path(DASHBOARD + "/now", live.now, name="now"),
        path(DASHBOARD + "/map.svg", live.picture, name="picture"),
        path(DASHBOARD + "/areas", live.areas, name="areas"),
    ],
    "fits": [
        path(FITS, fits.list_fits, name="list"),
        path(FITS + "new", fits.new, name="new"),
        path(FITS + "auto", fits.auto, name="auto"),
        path(FIT + "progress", fits.progress, name="progress"),
        path(FIT + "log", fits.log, name="log"),
        path(FIT + "explained", fits.explained, name="explained"),
        path(FIT + "cancel", fits.cancel, name="cancel"),
        path(FIT + "again", fits.again, name="again"),
        path(FIT + "remedy", fits.remedy, name="remedy"),
        path(DASHBOARD + "/judges", judges.judges, name="judges"),
        path(DASHBOARD + "/judges/act", judges.act, name="act"),
        path(DASHBOARD + "/judges/<slug:name>", judges.judge, name="judge"),
        path(DASHBOARD + "/reliability", checks.reliability, name="reliability"),
        path(DASHBOARD + "/planning", planning.planning, name="planning"),
        path(DASHBOARD + "/plan", planning.plan, name="plan"),
        path(DASHBOARD + "/plan/news", planning.plan_news, name="plan_news"),
    ],
    "reading": [
        path("r/<slug:token>/", reading.page, name="page"),
        path("r/<slug:token>/map.svg", reading.map_picture, name="map"),
        path("r/<slug:token>/areas.csv", reading.table, name="table"),
        path("r/<slug:token>/briefing", reading.briefing, name="briefing"),
    ],
    "results": [
        path(FIT + "map", risk_map.show_map, name="map"),
        path(FIT + "map.svg", risk_map.map_picture, name="map_picture"),
        path(FIT + "map/colours", risk_map.map_colours, name="map_colours"),
        path(FIT + "judge-maps", compare.judge_maps, name="judge_maps"),
        path(FIT + "areas/<int:position>", risk_map.area, name="area"),
        path(FIT + "convergence", checks.convergence, name="convergence"),
        path(FIT + "checks", checks.checks, name="checks"),
        path(FIT + "compare", compare.compare, name="compare"),
        path(FIT + "sensitivity", compare.sensitivity, name="sensitivity"),
        path(FIT + "figures", beside.figures, name="figures"),
        path(FIT + "figures/add", beside.add, name="add_figures"),
        path(FIT + "figures/choose", beside.choose, name="choose_figures"),
        path(FIT + "share", reading.share, name="share"),
        path(FIT + "share/revoke", reading.revoke, name="revoke_link"),
        path(FIT + "files", files.show_files, name="files"),
        path(FIT + "words", files.words, name="words"),
        path(FIT + "briefing", files.briefing, name="briefing"),
        path(FIT + "pictures/<slug:name>.svg", files.picture, name="picture"),
        path(FIT + "download/<slug:kind>", files.download, name="download"),
    ],
    "api": [
        path(STUDY + "api", tokens.tokens, name="tokens"),
        path(STUDY + "api/revoke", tokens.revoke, name="revoke"),
    ],
    "accounts": [
        path("first/<slug:token>/", accounts.invitation, name="first"),
        path("invitation/<slug:token>/", accounts.invitation, name="invitation"),
        path("account/", accounts.account, name="account"),
        path("account/researchers/", accounts.researchers, name="researchers"),
        path("account/researchers/<int:key>/deactivate", accounts.deactivate, name="deactivate"),
    ],
}
"""The addresses of each app, whose names begin with its own."""

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    *(path("", include((patterns, name))) for name, patterns in NAMED.items()),
    path("account/login/", allauth_views.login, name="account_login"),
    path("account/logout/", allauth_views.logout, name="account_logout"),
    path("account/inactive/", allauth_views.account_inactive, name="account_inactive"),
    path("account/signup/", allauth_views.signup, name="account_signup"),
    path("account/confirm/", allauth_views.reauthenticate, name="account_reauthenticate"),
    path("account/password/change/", allauth_views.password_change, name="account_change_password"),
    path("account/password/set/", allauth_views.password_set, name="account_set_password"),
    path("account/password/reset/", accounts.password_reset, name="account_reset_password"),
    path("account/password/reset/sent/", allauth_views.password_reset_done, name="account_reset_password_done"),
    path(
        "account/password/reset/done/",
        allauth_views.password_reset_from_key_done,
        name="account_reset_password_from_key_done",
    ),
    re_path(KEY, allauth_views.password_reset_from_key, name="account_reset_password_from_key"),
    path("account/two-factor/", include("allauth.mfa.urls")),
    *interface,
]
handler400 = "judgemap.web.server.errors.bad_request"
handler403 = "judgemap.web.server.errors.forbidden"
handler404 = "judgemap.web.server.errors.not_found"
handler500 = "judgemap.web.server.errors.server_error"
