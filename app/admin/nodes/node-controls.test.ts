import { expect, test } from "vitest";
import { jobKindOrder as kinds } from "../../client/kinds.ts";
import { wantedSettings } from "./node-controls.tsx";

test("O4 a node that is given every kind back is narrowed no more", () => {
  expect(wantedSettings({ gpu: 2 }, ["upscale"])).toEqual({ slots: { gpu: 2 }, kinds: ["upscale"] });
  expect(wantedSettings({}, kinds)).toEqual({ slots: {} });
});
