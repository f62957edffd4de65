"""``python -m ripplenest``: the program ``ripplenest``, where its script is on no path."""

from ripplenest.cli import app

if __name__ == "__main__":
    app(prog_name="python -m ripplenest")
