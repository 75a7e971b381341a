import { jobKinds } from "@atelier/server/engines";
import { parseConfig, parseEnv } from "@atelier/server/platform";
import { expect, test } from "vitest";
import { detectOffer } from "./capability.ts";
import type { Engine } from "./engines/index.ts";

const kinds = jobKinds.filter((kind) => kind !== "text_to_image");
const engine: Engine = {
  name: "local",
  kinds,
  run: () => Promise.resolve([]),
  close: () => Promise.resolve(),
};

function offerWith(settings: Readonly<Record<string, string>>) {
  const { env } = parseEnv(settings);
  if (!env) throw new Error("wrong settings of the test");
  return detectOffer(env, parseConfig({}), [engine]);
}

test("A9 a worker offers all that its engines can do, or only the kinds that it is narrowed to", () => {
  expect(offerWith({}).capability.kinds).toEqual(kinds);
  expect(offerWith({ WORKER_ONLY: "upscale, inpaint" }).capability.kinds.toSorted()).toEqual([
    "inpaint",
    "upscale",
  ]);
});

test("A9 a worker runs as many jobs at once as it is told to", () => {
  expect(offerWith({ WORKER_CPU_SLOTS: "3" }).slots).toBe(3);
});

test("A9 a kind that no engine here can run is refused by name", () => {
  expect(() => offerWith({ WORKER_ONLY: "upscale,text_to_image" })).toThrow(/text_to_image.*Known: /);
});
