import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { loadConfigOr, parseConfig, usualConfigFile } from "./config.ts";
import { ConfigError } from "./config-problems.ts";

let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "atelier-config-"));
  vi.spyOn(process, "cwd").mockReturnValue(folder);
});
afterAll(async () => {
  vi.restoreAllMocks();
  await rm(folder, { recursive: true, force: true });
});

const builtIn = { limits: { openJobs: 7 } };
const openJobsOf = async (file: string) => (await loadConfigOr(file, builtIn)).limits.openJobs;
const textOf = (openJobs: number) => `export default { limits: { openJobs: ${openJobs} } };`;

test("A2 where the usual file is not there, as in a function, what was built in counts", async () => {
  expect(await openJobsOf(usualConfigFile)).toBe(7);
});

test("A2 the file counts where it is there, and a file of another name must be there", async () => {
  const own = path.join(folder, "own.config.ts");
  await expect(openJobsOf(own)).rejects.toThrow(/own\.config/);
  await writeFile(own, textOf(8));
  expect(await openJobsOf(own)).toBe(8);
  await writeFile(path.join(folder, usualConfigFile), textOf(9));
  expect(await openJobsOf(usualConfigFile)).toBe(9);
});

test("A2 a file that calls defineConfig, as all did once, is read", async () => {
  const file = path.join(folder, "older.config.ts");
  const platform = pathToFileURL(path.join(import.meta.dirname, "index.ts")).href;
  await writeFile(
    file,
    `import { defineConfig } from ${JSON.stringify(platform)};\nexport default defineConfig({ limits: { openJobs: 6 } });`,
  );
  expect(await openJobsOf(file)).toBe(6);
});

function faultsOf(input: unknown): Record<string, string> {
  try {
    parseConfig(input);
    return {};
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return Object.fromEntries(error.problems.map(({ name, message }) => [name, message]));
  }
}

const asked = (name: string) => `is not a setting; did you mean ${name}?`;

test("E9 A1 every mistyped name is a fault, with the nearest right one", () => {
  const faults = faultsOf({
    limts: {},
    limits: { maxWating: 5, openjobs: 3, open_jobs_guest: 2 },
    timing: { beatms: 1 },
    retention: { foo: 1 },
    queues: { "gpu-high": { minVramGiB: 8 }, own: { kinds: ["upscail", "inpaint"] } },
    cloud: {
      overflowAfterSeconds: 5,
      policies: { "text-to-image": "own_only", outfit: "fastest" },
      policy: "own-first",
      providers: { repliccate: { rpm: 1 }, fal: { rpms: 2 } },
    },
    assistant: { responder: { timeout: 4 }, contextTokens: "many" },
  });
  expect(faults).toEqual({
    limts: asked("limits"),
    "limits.maxWating": asked("maxWaiting"),
    "limits.openjobs": asked("openJobs"),
    "limits.open_jobs_guest": asked("openJobsGuest"),
    "timing.beatms": asked("beatMs"),
    "retention.foo": expect.stringMatching(/^is not a setting; known here: ephemeralAfterAnswerMs, /),
    "queues.gpu-high.minVramGiB": asked("minVramGib"),
    "queues.own.kinds.0": '"upscail" is not known; did you mean upscale?',
    "cloud.overflowAfterSeconds": asked("overflowAfterS"),
    "cloud.policies.text-to-image": asked("text_to_image"),
    "cloud.policies.outfit": expect.stringMatching(/known here: outfit_change/),
    "cloud.policy": '"own-first" is not known; did you mean own_first?',
    "cloud.providers.repliccate": asked("replicate"),
    "cloud.providers.fal.rpms": asked("rpm"),
    "assistant.responder.timeout": asked("timeoutS"),
    "assistant.contextTokens": expect.stringMatching(/number/),
  });
});

test.each([null, 5, [], "text"])("E9 a configuration that is %j is refused as a whole", (input) => {
  expect(Object.keys(faultsOf(input))).toEqual(["the configuration"]);
});

test("E9 one's own queues, prices and models keep their free names", () => {
  const input = { queues: { "my-cards": { models: ["a.safetensors"] } }, assistant: { prices: {} } };
  expect(faultsOf(input)).toEqual({});
});
