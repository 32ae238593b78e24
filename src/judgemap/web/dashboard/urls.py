"""Addresses of a study's dashboard."""

from django.urls import path

from judgemap.web.dashboard import views

app_name = "dashboard"
urlpatterns = [
    path("studies/<slug:slug>/dashboard", views.live, name="live"),
    path("studies/<slug:slug>/dashboard/now", views.now, name="now"),
    path("studies/<slug:slug>/dashboard/areas", views.areas, name="areas"),
    path("studies/<slug:slug>/dashboard/judges", views.areas, name="judges"),
    path("studies/<slug:slug>/dashboard/reliability", views.areas, name="reliability"),
]
