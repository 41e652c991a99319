"""Actor-critic on 16 CartPoles: the policy's distributions check their arguments at each step.

``--fixed`` switches the checks off. Nothing else changes.
"""

from __future__ import annotations

import gymnasium
import numpy as np
import torch
from torch import nn

from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

NUM_ENVS = 16
ROLLOUT = 16


class ActorCritic(nn.Module):
    def __init__(self, observation, actions):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(observation, 64), nn.Tanh())
        self.policy = nn.Linear(64, actions)
        self.value = nn.Linear(64, 1)

    def forward(self, observations):
        features = self.body(observations)
        policy = torch.distributions.Categorical(logits=self.policy(features))
        return policy, self.value(features).squeeze(-1)


def main():
    options = arguments()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if options.fixed:
        torch.distributions.Distribution.set_default_validate_args(False)
    envs = gymnasium.make_vec("CartPole-v1", num_envs=NUM_ENVS, vectorization_mode="sync")
    model = ActorCritic(4, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
    observations, _ = envs.reset(seed=0)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        log_probs, values, rewards = [], [], []
        for _ in range(ROLLOUT):
            policy, value = model(torch.as_tensor(observations))
            actions = policy.sample()
            log_probs.append(policy.log_prob(actions))
            values.append(value)
            observations, reward, _, _, _ = envs.step(actions.numpy())
            rewards.append(reward)
        returns = torch.as_tensor(np.cumsum(np.array(rewards)[::-1], axis=0)[::-1].copy()).float()
        advantages = returns - torch.stack(values)
        policy_loss = -(torch.stack(log_probs) * advantages.detach()).mean()
        loss = policy_loss + 0.5 * advantages.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        watch.count(NUM_ENVS * ROLLOUT)
    tell(watch.sps)


if __name__ == "__main__":
    main()
