"""The addresses where studies are made."""

from django.urls import path

from judgemap.web.making import views

app_name = "making"
urlpatterns = [
    path("new/", views.upload, name="upload"),
    path("new/<int:upload>/", views.columns, name="columns"),
]
