"""Small programs that use Ripplenest, each with what it prints beside it. They use public names only."""
