"""Co-scheduling: which running job's cores a waiting job may share, chosen by a learner with a regret bound.

Source of the idea: Souza, Pelckmans and Tordsson, "A HPC Co-Scheduler with Reinforcement Learning", 2021. Its
update and its loss are corrected here (decision 0085). Pure: standard library only, no I/O but a file of
experts that is read once.
"""
