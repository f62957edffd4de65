"""States of older formats: what they hold (``older``), and how a state of this format is made of it (``migrate``)."""
