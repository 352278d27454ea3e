"""How brokers are cut: how many pods a MiniCluster with a profile has, with which cores, over how many nodes.

`choice` decides that once, before there are pods; the decision is stored in the status. `cutting` applies it
to a document, `node_offer` tells which nodes its pods may run on, and `guarantee` whether a kubelet with the
static CPU manager gives them cores of their own. Source: Liu, Guitart, "Fine-Grained Scheduling for
Containerized HPC Workloads in Kubernetes Clusters", 2022. Pure.
"""
