/** One class of graphics cards and one that takes every machine. */
export const serverQueues = { "gpu-high": { minVramGib: 8 }, "cpu-light": {} } as const;
