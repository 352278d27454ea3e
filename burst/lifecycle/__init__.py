"""The life of a burst: its states, and what is to be done next; pure functions over records.

    requested → planned → provisioning → joining → active → draining → deleting → deleted

Each state has a deadline. Whatever fails leads through `deleting`: what was made for a burst and is not taken
away would cost money for ever. How a burst went is its outcome.
"""
