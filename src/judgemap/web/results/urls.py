"""Addresses of a fit's pages."""

from django.urls import path

from judgemap.web.results import files, views

FIT = "studies/<slug:slug>/fits/<int:number>/"
app_name = "results"
urlpatterns = [
    path(FIT + "map", views.show_map, name="map"),
    path(FIT + "areas/<int:position>", views.area, name="area"),
    path(FIT + "convergence", views.convergence, name="convergence"),
    path(FIT + "checks", views.checks, name="checks"),
    path(FIT + "compare", views.compare, name="compare"),
    path(FIT + "sensitivity", views.sensitivity, name="sensitivity"),
    path(FIT + "files", views.show_files, name="files"),
    path(FIT + "briefing", files.briefing, name="briefing"),
    path(FIT + "pictures/<slug:name>.svg", files.picture, name="picture"),
    path(FIT + "download/<slug:kind>", files.download, name="download"),
]
