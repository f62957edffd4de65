"""Text that is safe to print: what does not print is escaped, so that no name or value can command a terminal."""


def printable(text: str) -> str:
    """``text`` on one line, with control, invisible and direction-changing characters and lone surrogates escaped."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escape(c) for c in text)


def _escape(c: str) -> str:
    return f"\\u{ord(c):04x}" if ord(c) < 0x10000 else f"\\U{ord(c):08x}"
