"""Which queue a job gets at its submission where bursts are managed; and which queues are closed to hands.

Both engines ask the same function: real Flux by the frobnicator of `flux_zips`, the embedded instance itself.
So it runs in Flux's Python. It computes; what is configured is given to it.
"""
