"""Addresses of a study's fits, of the pages of each, and of what a study's last fit says beside its dashboard."""

from django.urls import path

from judgemap.web.results import beside, checks, compare, files, fits, judges, planning, reading, risk_map

FITS = "studies/<slug:slug>/fits/"
DASHBOARD = "studies/<slug:slug>/dashboard/"
FIT = FITS + "<int:number>/"
app_name = "results"
urlpatterns = [
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
]
fits_urls = (
    [
        path(FITS, fits.list_fits, name="list"),
        path(FITS + "new", fits.new, name="new"),
        path(FITS + "auto", fits.auto, name="auto"),
        path(FIT + "progress", fits.progress, name="progress"),
        path(FIT + "log", fits.log, name="log"),
        path(FIT + "explained", fits.explained, name="explained"),
        path(FIT + "cancel", fits.cancel, name="cancel"),
        path(FIT + "again", fits.again, name="again"),
        path(FIT + "remedy", fits.remedy, name="remedy"),
        path(DASHBOARD + "judges", judges.judges, name="judges"),
        path(DASHBOARD + "judges/act", judges.act, name="act"),
        path(DASHBOARD + "judges/<slug:name>", judges.judge, name="judge"),
        path(DASHBOARD + "reliability", checks.reliability, name="reliability"),
        path(DASHBOARD + "planning", planning.planning, name="planning"),
        path(DASHBOARD + "plan", planning.plan, name="plan"),
        path(DASHBOARD + "plan/news", planning.plan_news, name="plan_news"),
    ],
    "fits",
)
reading_urls = (
    [
        path("r/<slug:token>/", reading.page, name="page"),
        path("r/<slug:token>/map.svg", reading.map_picture, name="map"),
        path("r/<slug:token>/areas.csv", reading.table, name="table"),
        path("r/<slug:token>/briefing", reading.briefing, name="briefing"),
    ],
    "reading",
)
