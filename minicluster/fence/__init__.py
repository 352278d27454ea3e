"""What watches over the broker of a follower that may lose its lead for good, as one of a burst does.

One process beside each such broker asks rank 0 for answers. Without one for some time, it kills the broker
and everything that jobs started there: elsewhere they may have been started again. Without one for longer,
the follower ends for good. The start script runs it (broker_config/templates/start/broker.sh.j2).

As long as the start script lives and gets orphans, as the first process of a container does, nothing of a
broker's jobs outlives it. Elsewhere that holds for what was seen below the broker before (decision 0067).
"""
