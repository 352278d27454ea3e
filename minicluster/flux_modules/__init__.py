"""What a lead broker loads besides: for real Flux packed as one zip, for the embedded instance as it is.

What goes into the zip runs under Flux's own Python, perhaps as old as 3.8, and imports the standard library,
`flux`, and of this project only `broker_config`'s idsets and hostlists.
"""
