"""Train a graph attention network in PyTorch on Zachary's karate club (needs the extra `torch`).

A club of 34 members split after a conflict between its instructor (member 1) and its president (member 34). Wayne
Zachary ("An Information Flow Model for Conflict and Fission in Small Groups", 1977) had recorded which members met
outside the club. The network knows these 78 friendships, and the sides of the instructor and the president. It predicts
the side of each other member.

Each layer gathers the features of both ends of each edge, weights the edges of a member by a softmax
(`scatter_softmax`), and adds up the weighted features (`gather_reduce`). Gradients flow back through all these steps.

    python train.py [--epochs N]
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor, nn
from torch.nn import functional

import gatherscatter.torch as gst
from gatherscatter.torch.segment import scatter_softmax

# For each member from the second on, the friends with a lower number.
FRIENDS = """1; 1 2; 1 2 3; 1; 1; 1 5 6; 1 2 3 4; 1 3; 3; 1 5 6; 1; 1 4; 1 2 3 4; ; ; 6 7; 1 2; ; 1 2; ; 1 2; ; ; ;
24 25; ; 3 24 25; 3; 24 27; 2 9; 1 25 26 29; 3 9 15 16 19 21 23 24 30 31 32;
9 10 14 15 16 19 20 21 23 24 27 28 29 30 31 32 33"""
WITH_THE_INSTRUCTOR = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 17, 18, 20, 22}
MEMBERS = 34


class Attention(nn.Module):
    """The features of a member's friends, with weights that depend on the features of both."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.transform = nn.Linear(inputs, outputs, bias=False)
        self.weigh = nn.Linear(2 * outputs, 1, bias=False)

    def forward(self, features: Tensor, source: Tensor, target: Tensor) -> Tensor:
        """Return the new features after one step along the edges."""
        features = self.transform(features)
        sent, own = gst.gather(features, source), gst.gather(features, target)
        scores = functional.leaky_relu(self.weigh(torch.cat([sent, own], 1)), 0.2)
        weights = scatter_softmax(scores, target, dim=0, dim_size=MEMBERS)
        edges = {"segment_ids": target, "num_segments": MEMBERS, "weights": weights.squeeze(1)}
        return gst.gather_reduce(features, source, **edges)


class Network(nn.Module):
    """Two attention layers, from the identity of each member to its side."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Attention(MEMBERS, 8), Attention(8, 2)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Return the scores of both sides for each member."""
        hidden = functional.elu(self.first(torch.eye(MEMBERS), source, target))
        return self.second(hidden, source, target)


def edges() -> tuple[Tensor, Tensor]:
    """Return the edges: both directions of each friendship, and from each member to itself."""
    pairs = [
        (member, int(friend) - 1) for member, friends in enumerate(FRIENDS.split(";"), 1) for friend in friends.split()
    ]
    low, high = torch.tensor(pairs).T
    everybody = torch.arange(MEMBERS)
    return torch.cat([low, high, everybody]), torch.cat([high, low, everybody])


def train(epochs: int) -> tuple[list[float], list[int]]:
    """Return the losses, and the members that are predicted to go with the instructor."""
    torch.manual_seed(0)
    source, target = edges()
    network = Network()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=5e-4)
    known, sides = [0, MEMBERS - 1], torch.tensor([0, 1])
    losses = []
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = functional.cross_entropy(network(source, target)[known], sides)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    said = network(source, target).argmax(1)
    return losses, [member for member in range(1, MEMBERS + 1) if said[member - 1] == 0]


def main() -> None:
    """Train, and print the number of right predictions."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=50)
    losses, found = train(parser.parse_args().epochs)
    right = MEMBERS - len(WITH_THE_INSTRUCTOR ^ set(found))
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}")
    print(f"{right} of {MEMBERS} members on the right side")


if __name__ == "__main__":
    main()
