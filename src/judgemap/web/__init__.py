"""The web application (to come): researchers, studies, judges."""
