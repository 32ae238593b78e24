"""Addresses of the researchers' pages about judges."""

from django.urls import path

from judgemap.web.people import inviting

app_name = "inviting"
urlpatterns = [
    path("try/<slug:slug>/", inviting.preview, name="preview"),
    path("studies/<slug:slug>/judges", inviting.judges, name="judges"),
    path("studies/<slug:slug>/judges/groups", inviting.groups, name="groups"),
    path("studies/<slug:slug>/judges/reminders", inviting.reminders, name="reminders"),
    path("studies/<slug:slug>/judges.csv", inviting.links_csv, name="links_csv"),
    path("studies/<slug:slug>/export", inviting.export, name="export"),
]
