import { expect, test, vi } from "vitest";
import { countByDay, dayOf, ownZone, todayIn } from "./days.ts";

test("names of one zone in any case share a format, and only some zones keep one", () => {
  const made = vi.spyOn(Intl, "DateTimeFormat");
  try {
    const at = new Date("2026-11-25T23:00:00Z");
    // A zone of no other test: files share a process, which keeps the formats.
    for (const name of ["Asia/Vladivostok", "ASIA/vladivostok", "asia/VLADIVOSTOK"])
      expect(dayOf(name, at)).toBe("2026-11-26");
    expect(made).toHaveBeenCalledTimes(1);
    for (let minutes = 0; minutes < 200; minutes += 1)
      dayOf(`+0${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}`, at);
    made.mockClear();
    dayOf("Asia/Vladivostok", at);
    expect(made).toHaveBeenCalledTimes(1);
  } finally {
    made.mockRestore();
  }
});

test.each(["Etc/Unknown", undefined, "Mars/Olympus"])(
  "a machine that names %s as its zone counts days by UTC",
  (timeZone) => {
    const made = vi.spyOn(Intl.DateTimeFormat.prototype, "resolvedOptions");
    made.mockReturnValue({ timeZone } as unknown as Intl.ResolvedDateTimeFormatOptions);
    try {
      expect(ownZone()).toBe("UTC");
      expect(todayIn(ownZone(), new Date("2026-11-25T23:00:00Z"))).toBe("2026-11-25 (Wednesday)");
    } finally {
      made.mockRestore();
    }
  },
);

test("moments are counted by the days of a zone", () => {
  const moments = ["29T15:30", "29T14:30", "28T23:00", "28T10:00"].map(
    (time) => new Date(`2026-11-${time}:00Z`),
  );
  const counts = (zone: string) => [...countByDay(zone, moments).values()];
  expect(counts("UTC")).toEqual([2, 2]);
  expect(counts("Asia/Tokyo")).toEqual([1, 2, 1]);
  expect(countByDay("UTC", []).size).toBe(0);
});
