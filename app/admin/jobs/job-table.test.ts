import { expect, test } from "vitest";
import { timeOfId } from "./job-table.tsx";

test("an id tells when it was made", () => {
  expect(timeOfId("019a0000-0000-7000-8000-000000000000")).toBe(0x01_9a_00_00_00_00);
});
