"""JSON over HTTP: what programs and the page ask of a desk."""

from simlabel.server.api._app import make_app

__all__ = ["make_app"]
