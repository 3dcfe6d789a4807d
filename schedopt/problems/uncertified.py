"""What a record raises where it finds no certificate, and can say why."""


class NoCertificateError(Exception):
    """A bound has no certificate; the message says why."""
