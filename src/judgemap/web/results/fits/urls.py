"""Addresses of fits."""

from django.urls import path

from judgemap.web.results.fits import views

FITS = "studies/<slug:slug>/fits/"
app_name = "fits"
urlpatterns = [
    path(FITS, views.list_fits, name="list"),
    path(FITS + "new", views.new, name="new"),
    path(FITS + "auto", views.auto, name="auto"),
    path(FITS + "<int:number>/progress", views.progress, name="progress"),
    path(FITS + "<int:number>/log", views.log, name="log"),
    path(FITS + "<int:number>/cancel", views.cancel, name="cancel"),
    path(FITS + "<int:number>/again", views.again, name="again"),
]
