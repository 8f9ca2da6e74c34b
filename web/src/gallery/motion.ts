// Things that move: differential equations, and how their course depends on where they start.

import { linspace } from '../inputs/ranges';
import type { Example } from './example';

export const pendulum: Example = {
  id: 'pendulum',
  title: 'A pendulum',
  lesson: 'Angle against speed: with friction every path winds down to rest.',
  settings: {
    source: `def pendulum(t, state, friction):
    angle, speed = state
    return jnp.stack([speed, -jnp.sin(angle) - friction * speed])`,
    verb: 'ode',
    fields: { t1: 40, ts: linspace(0, 40, 801) },
  },
  args: { state: [0, 2.4], friction: 0.12 },
  sliders: { friction: [0, 1] },
  needs: ['ode'],
};

export const swing: Example = {
  id: 'swing',
  title: 'A pendulum, differentiated',
  lesson: 'How the whole swing shifts when the start does: forward mode, one push.',
  settings: {
    source: `def swing(angle, damping):
    def step(state, _):
        th, om = state
        om = om - 0.05 * (jnp.sin(th) + damping * om)
        th = th + 0.05 * om
        return (th, om), th
    _, path = jax.lax.scan(step, (angle, 0.0), None, length=240)
    return path`,
    verb: 'jvp',
    wrt: ['angle'],
    direction: '[1]',
  },
  args: { angle: 2.5, damping: 0.1 },
  sliders: { angle: [-3.1, 3.1], damping: [0, 1] },
};

export const lorenz: Example = {
  id: 'lorenz',
  title: 'Lorenz’s butterfly',
  lesson: 'Three equations, no noise, no forecast: integrated with steps that adapt.',
  settings: {
    source: `def lorenz(t, y, rho):
    a, b, c = y
    return jnp.stack([10 * (b - a), a * (rho - c) - b, a * b - 8 / 3 * c])`,
    verb: 'ode',
    fields: { t1: 40, ts: linspace(0, 40, 2001) },
  },
  args: { y: [1, 1, 1], rho: 28 },
  sliders: { rho: [0, 40] },
  needs: ['ode'],
};

export const heat: Example = {
  id: 'heat',
  title: 'The heat equation',
  lesson: 'Every step is one stencil; the Jacobian of the end in the start is the heat kernel.',
  settings: {
    source: `def diffuse(start):
    def step(u, _):
        inner = u[2:] - 2 * u[1:-1] + u[:-2]
        return u.at[1:-1].add(0.4 * inner), None
    end, _ = jax.lax.scan(step, start, None, length=30)
    return end`,
    verb: 'jacobian',
    mode: 'forward',
  },
  args: { start: [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0] },
};
