import { afterAll, vi } from "vitest";

// Files share a process: what a file replaces in it ends with the file.
afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});
