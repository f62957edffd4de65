"""What a query costs: cost domains and the interpretation C[[.]] (nrc-ivm, section 4.2).

Costs and estimates are two things. C[[.]] (figure 5) bounds what any evaluation costs, and proves that deltas are
cheaper. It charges a join all combinations, so it cannot rank plans; ``cost/estimate.py`` refines it by what
equalities look up. The verdict on a trigger (``cost/verdict.py``) wants both: ``C[[δ(h)]] < C[[h]]``, in numbers or
in symbols like |M|, and nothing read for nothing that grows with a table. What neither an equality nor both ends of a
column lead to from the change, but only a constant or one end, or nothing, is worth its price when every row of it is
in the result: when no condition, no join and no label that nobody holds may drop one. Then a batch that changes nothing
in a view reads what its keys find, and what lies between its ends, and no more of a larger state.
"""
