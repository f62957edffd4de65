"""From signed rows of parts to signed rows of maps: triggers, builds, and the choice between them."""
