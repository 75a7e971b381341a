import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { toFieldTime } from "./date-dialog.tsx";

beforeAll(() => void vi.stubEnv("TZ", "Europe/Berlin"));
afterAll(() => void vi.unstubAllEnvs());

test.each(["1850-01-01T12:00:00.000Z", "1916-07-12T10:11:12.000Z", "2026-03-29T01:00:00.000Z"])(
  "%s is the same time when it is read from the field, also where clocks went by the sun",
  (iso) => {
    expect(toFieldTime(iso)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/);
    expect(new Date(toFieldTime(iso)).toISOString()).toBe(iso);
  },
);
