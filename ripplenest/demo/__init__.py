"""``ripplenest demo``: films, two nested views, and batches that change them, each compared with recomputation.

    batches     which batches, computed from the films
    operations  what a batch consists of: its meaning on the database and on a copy of the input
    runner      applies, times and compares
    screen      what the terminal shows
    main        puts them together
"""
