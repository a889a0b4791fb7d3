"""Voxelise a point cloud with the array functions: points in each cell, their mean, and the height of each column.

Most networks on laser scans begin with this step. mode="drop" skips points outside the grid.

    python voxelise.py
"""

from __future__ import annotations

import numpy as np

import gatherscatter as gs

GRID = (32, 12, 6)  # cells along x, y, z
CELL = 0.25  # metres
SHADES = " .:-=+*#%@"


def scan(count: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    """Return points (x, y, z) on a floor, a ball and a ramp, and their brightness. A few are outside the grid."""
    generator = np.random.default_rng(11)
    x, y = (generator.random(count) * (extent * CELL * 1.02) for extent in GRID[:2])
    ball = np.sqrt(np.maximum(0.0, 1.1**2 - (x - 2) ** 2 - (y - 1.5) ** 2))
    ramp = np.clip((x - 5) / 2, 0, 1.2) * (np.abs(y - 1.5) < 1)
    points = np.stack([x, y, np.maximum(ball, ramp)], axis=1).astype(np.float32)
    brightness = np.where(ball > 0, 0.9, 0.3) + 0.1 * generator.random(count)
    return points, brightness.astype(np.float32)


def cells_of(points: np.ndarray) -> np.ndarray:
    """Return the cell (i, j, k) of each point. A point outside the grid gets a cell past its end.

    Negative cells must be replaced: -1 is a valid index for the last cell, and would not be dropped.
    """
    cells = np.floor(points / CELL).astype(np.int64)
    outside = ((cells < 0) | (cells >= GRID)).any(axis=1)
    cells[outside] = GRID
    return cells


def voxelise(points: np.ndarray, brightness: np.ndarray) -> dict[str, np.ndarray]:
    """Return count, centroid and mean brightness of each cell, and the height of each column."""
    cells = cells_of(points)
    ones = np.ones(len(points), np.int32)
    count = gs.scatter_nd(np.zeros(GRID, np.int32), cells, ones, reduction="add", mode="drop")
    centroid = gs.scatter_nd(
        np.zeros((*GRID, 3), np.float32), cells, points, reduction="mean", include_self=False, mode="drop"
    )
    light = gs.scatter_nd(
        np.zeros(GRID, np.float32), cells, brightness, reduction="mean", include_self=False, mode="drop"
    )
    columns = cells[:, 0] * GRID[1] + cells[:, 1]  # a number for each column, for scatter_elements
    ground = np.full(GRID[0] * GRID[1], -np.inf, np.float32)
    height = gs.scatter_elements(ground, columns, points[:, 2], reduction="max", mode="drop").reshape(GRID[:2])
    return {"count": count, "centroid": centroid, "brightness": light, "height": height}


def relief(height: np.ndarray) -> str:
    """Draw the columns from above. Higher columns are darker."""
    steps = np.clip(height / height.max() * (len(SHADES) - 1), 0, len(SHADES) - 1).astype(int)
    return "\n".join("".join(SHADES[step] for step in row) for row in steps.T)


def main() -> None:
    """Voxelise the scan and print a summary."""
    points, brightness = scan()
    voxels = voxelise(points, brightness)
    filled = voxels["count"] > 0
    fullest = np.unravel_index(voxels["count"].argmax(), GRID)
    print(f"{voxels['count'].sum()} of {len(points)} points in {filled.sum()} of {filled.size} cells")
    print(f"fullest cell {tuple(map(int, fullest))}: {voxels['count'][fullest]} points,", end=" ")
    x, y, z = voxels["centroid"][fullest]
    print(f"centroid ({x:.2f}, {y:.2f}, {z:.2f}), brightness {voxels['brightness'][fullest]:.2f}")
    print(relief(voxels["height"]))


if __name__ == "__main__":
    main()
