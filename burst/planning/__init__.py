"""Which jobs burst, where to and at what cost: pure functions over records.

`selection` is which jobs may, `ordering` who comes first, `packing` how many nodes some jobs need, `money`
what that costs, and `plan` all of it together. `hooks` are the first two as parameters.
"""
