import pino from "pino";
import { afterEach, expect, test } from "vitest";
import { newEntry } from "./entry.ts";
import { listed } from "./fixtures/pool-scene.ts";
import { unknownFacts } from "./probes.ts";
import { type ServerWatch, watchServer } from "./watch.ts";

const endings: ServerWatch[] = [];
afterEach(async () => {
  for (const watch of endings.splice(0)) await watch.stop();
});

/** The watch of a server that has a model loaded; each probe answers when the test lets it, with so many prompts in line. */
async function watchLoaded() {
  const entry = newEntry({ ...listed("http://127.0.0.1:1"), sources: ["test"] });
  const asked: ((queueLength: number) => void)[] = [];
  let back = () => {};
  const watch = watchServer({
    entry,
    probe: {
      read: (signal) =>
        new Promise((resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
          asked.push((queueLength) => resolve({ ...unknownFacts, queueLength }));
        }),
      free: () => Promise.resolve(),
      forget: () => undefined,
      listen(onBack) {
        back = onBack;
        return () => undefined;
      },
    },
    log: pino({ level: "silent" }),
    probeMs: 60_000,
    onChange: () => undefined,
  });
  endings.push(watch);
  const answer = async (queueLength: number) => {
    await expect.poll(() => asked.length).toBe(1);
    asked.pop()?.(queueLength);
    await expect.poll(() => entry.facts.queueLength).toBe(queueLength);
  };
  await answer(0);
  entry.loadedNeeds = ["comfyui/t2i_sd15"];
  return { entry, watch, asked, answer, back: () => back() };
}

test("D12 a prompt of ours that ends while a probe reads is no other client's: its model stays known", async () => {
  const { entry, watch, asked, answer } = await watchLoaded();
  entry.jobId = "one";
  watch.wake();
  await expect.poll(() => asked.length).toBe(1);
  entry.jobId = null;
  await answer(1);
  expect([entry.othersQueued, entry.loadedNeeds]).toEqual([0, ["comfyui/t2i_sd15"]]);
});

test.each([
  ["another client's prompt", ({ watch, answer }) => (watch.wake(), answer(1))],
  ["a restart", ({ back }) => Promise.resolve(back())],
] satisfies [string, (opened: Awaited<ReturnType<typeof watchLoaded>>) => Promise<void>][])(
  "D12 after %s nobody knows what a server has loaded",
  async (_what, happen) => {
    const opened = await watchLoaded();
    await happen(opened);
    expect(opened.entry.loadedNeeds).toEqual([]);
  },
);
