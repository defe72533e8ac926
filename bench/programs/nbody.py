"""nbody: five bodies, 50,000 steps. Prints milliseconds."""
import time


def energy(bodies):
    total = 0.0
    for n, (p, v, m) in enumerate(bodies):
        total += 0.5 * m * sum(c * c for c in v)
        for q, _, k in bodies[n + 1:]:
            total -= m * k / sum((a - b) ** 2 for a, b in zip(p, q)) ** 0.5
    return total


def advance(bodies, pairs, dt, steps):
    for _ in range(steps):
        for (p, v, m), (q, w, k) in pairs:
            dx, dy, dz = p[0] - q[0], p[1] - q[1], p[2] - q[2]
            mag = dt / (dx * dx + dy * dy + dz * dz) ** 1.5
            a, b = k * mag, m * mag
            v[0] -= dx * a
            v[1] -= dy * a
            v[2] -= dz * a
            w[0] += dx * b
            w[1] += dy * b
            w[2] += dz * b
        for p, v, _ in bodies:
            p[0] += dt * v[0]
            p[1] += dt * v[1]
            p[2] += dt * v[2]


BODIES = [([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], 39.47), ([4.84, -1.16, -0.10], [0.606, 2.81, -0.02], 0.037),
          ([8.34, 4.12, -0.4], [-1.01, 1.82, 0.008], 0.011), ([12.89, -15.11, -0.22], [1.08, 0.868, -0.01], 0.0017),
          ([15.37, -25.9, 0.179], [0.979, 0.594, -0.034], 0.002)]
PAIRS = [(a, b) for i, a in enumerate(BODIES) for b in BODIES[i + 1:]]
start = time.perf_counter()
advance(BODIES, PAIRS, 0.01, 50000)
assert energy(BODIES) < 0
print((time.perf_counter() - start) * 1e3)
