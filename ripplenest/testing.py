"""What tests of views and rings need: ``check_ring(R, values)`` asks the laws of a semiring."""

from ripplenest.nrc.surface.rings import check_ring

__all__ = ["check_ring"]
