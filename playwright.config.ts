import { rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { defineConfig } from "@playwright/test";
import { chooseBrowser } from "./e2e/browser.ts";
import type { Surroundings } from "./e2e/test.ts";

const port = Number(process.env.ATELIER_E2E_PORT ?? 3210);
/** Of the simulated ComfyUI that some journeys start; to all others its server is one that is away. */
const comfyPort = port + 1;
/** Of the simulated language model that the journey of the assistant starts. */
const llmPort = port + 2;
const baseURL = `http://127.0.0.1:${port}`;
/** Of the studio with simulated providers, and of the first provider there; each next one has the next port. */
const cloudPort = port + 3;
const providersPort = port + 4;

/** Named once by the main process; the test processes, which read this file too, inherit the name. */
function chooseDataDir(): string {
  const known = process.env.ATELIER_E2E_DATA_DIR;
  if (known) return known;
  const folder = path.join(process.env.ATELIER_E2E_TMPDIR ?? os.tmpdir(), `atelier-e2e-${process.pid}`);
  process.env.ATELIER_E2E_DATA_DIR = folder;
  // Kept after a failure: the logs are in it.
  process.once("exit", (code) => code === 0 && rmSync(folder, { recursive: true, force: true }));
  return folder;
}

type Env = Readonly<Record<string, string>>;

/** The blank names keep a developer's own .env out of the tests. */
const serverEnv = {
  ATELIER_DATA_DIR: chooseDataDir(),
  APP_URL: baseURL,
  HOST: "127.0.0.1",
  PORT: String(port),
  DATABASE_URL: "",
  DATABASE_DIRECT_URL: "",
  REDIS_URL: "",
  AUTH_SECRET: "",
  WORKER_NAME: "",
  WORKER_ONLY: "",
  COMFYUI_URLS: `http://127.0.0.1:${comfyPort}`,
  COMFYUI_DISCOVERY: "",
  LLM_BASE_URL: `http://127.0.0.1:${llmPort}/v1`,
  LLM_RESPONDER_MODEL: "local/simulated",
  ANTHROPIC_API_KEY: "",
  GOOGLE_GENERATIVE_AI_API_KEY: "",
  OPENAI_API_KEY: "",
  IOPAINT_URLS: "",
  WORKFLOWS_DIR: "",
  ATELIER_CONFIG: "",
  S3_BUCKET: "",
  S3_ENDPOINT: "",
  S3_PUBLIC_ENDPOINT: "",
  S3_DOWNLOADS: "",
  DATABASE_POOLER: "",
  DATABASE_MAX_CONNECTIONS: "",
  FUNCTION_SECONDS: "",
  VERCEL: "",
  EXISTING_CLIENTS: "",
  // A bucket instead of files, as JSON with the names above.
  ...(process.env.ATELIER_E2E_S3 ? JSON.parse(process.env.ATELIER_E2E_S3) : {}),
};

/** The environments of the pages as functions and of a worker elsewhere: `FunctionParts` as JSON. */
const functions: { web: Env; worker: Env } | null = process.env.ATELIER_E2E_FUNCTIONS
  ? JSON.parse(process.env.ATELIER_E2E_FUNCTIONS)
  : null;

const server = {
  env: { ...serverEnv, ...functions?.worker },
  timeout: 300_000,
  reuseExistingServer: false,
  gracefulShutdown: { signal: "SIGTERM", timeout: 60_000 },
} as const;

const viewport = { width: 1680, height: 1050 } as const;

/** Without moving pictures, which take a fifth of a run; a phone, those in turn and over a bucket show the studio as it moves. */
const calm = { viewport, contextOptions: { reducedMotion: "reduce" } } as const;

/** Journeys that start the simulator of ComfyUI, one after another: all of them at one port. */
const withServers = /(create|create-many|create-references|origin|server-modes)\.spec\.ts$/;

/** Journeys that start a studio of their own with simulated providers. */
const withProviders = /cloud\.spec\.ts$/;

/** Journeys one after another: they stop the one worker for a while, share the port of the language model, or measure times. */
const inTurn = /(admin|admin-assistant|assistant|change-outfit|edit-while-running|live-tabs)\.spec\.ts$/;

/** Journeys without jobs: it does not matter to them which servers are on offer, so that they run beside those with servers. */
const beside =
  /(account|api-key|boards|find|gallery|language|links|palette|rating-and-tags|settings-back|theme|timeline|trash|users)\.spec\.ts$/;

/** What `test:all` runs and `test` does not, and what is for a phone. */
const ofAll = /@all/;
const ofPhone = /@phone/;

/** Journeys that send or show pictures, for a run over a bucket. */
const overBucket = /(upload-\w+|gallery|remove-object)\.spec\.ts$/;
/** Those of `test:all`, and of `test` the ones that a bucket can make different. */
const ofBucket = /@all|@bucket/;

/** Journeys against the pages as functions, and then what their platform has to say. */
const asFunctions = /(upload-\w+|change-outfit|gallery|live-run)\.spec\.ts$/;
const ofPlatform = /platform\.spec\.ts$/;

function chooseProjects() {
  if (functions)
    return [
      { name: "functions", testMatch: asFunctions, use: { viewport } },
      { name: "platform", testMatch: ofPlatform, use: { viewport } },
    ];
  const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } as const;
  if (process.env.ATELIER_E2E_S3)
    return [
      { name: "bucket", grep: ofBucket, grepInvert: ofPhone, testMatch: overBucket, use: { viewport } },
      {
        name: "desktop",
        grep: ofAll,
        grepInvert: ofPhone,
        testIgnore: [overBucket, withServers, withProviders, inTurn, beside],
        use: calm,
      },
      {
        name: "in turn",
        grep: ofAll,
        grepInvert: ofPhone,
        testMatch: inTurn,
        workers: 1,
        use: { viewport },
      },
      { name: "phone", grep: /(?=.*@phone)(?=.*@all)/, use: phone },
      {
        name: "servers",
        testMatch: withServers,
        grep: ofAll,
        grepInvert: ofPhone,
        dependencies: ["bucket", "desktop", "in turn", "phone"],
        workers: 1,
        use: calm,
      },
      {
        name: "beside",
        testMatch: beside,
        testIgnore: overBucket,
        grep: ofAll,
        grepInvert: ofPhone,
        dependencies: ["bucket", "desktop", "in turn", "phone"],
        workers: 1,
        use: calm,
      },
    ];
  return [
    {
      name: "desktop",
      grepInvert: [ofPhone, ofAll],
      testIgnore: [withServers, withProviders, ofPlatform, inTurn, beside],
      use: calm,
    },
    { name: "in turn", testMatch: inTurn, grepInvert: [ofPhone, ofAll], workers: 1, use: { viewport } },
    { name: "phone", grep: ofPhone, grepInvert: ofAll, use: phone },
    // Last: what a server could once do stays on offer for a day, and the others start from a studio without any.
    {
      name: "servers",
      testMatch: withServers,
      grepInvert: ofAll,
      dependencies: ["desktop", "in turn", "phone"],
      workers: 1,
      use: calm,
    },
    {
      name: "beside",
      testMatch: beside,
      grepInvert: [ofPhone, ofAll],
      dependencies: ["desktop", "in turn", "phone"],
      workers: 1,
      use: calm,
    },
    {
      name: "providers",
      testMatch: withProviders,
      use: { ...calm, baseURL: `http://127.0.0.1:${cloudPort}`, providersPort },
    },
  ];
}

const web = functions
  ? {
      command: `"${process.execPath}" testing/functions/main.ts`,
      url: `${baseURL}/api/ready`,
      env: { PORT: String(port), ATELIER_E2E_FUNCTIONS: JSON.stringify(functions.web) },
    }
  : { command: `"${process.execPath}" scripts/start.ts`, url: baseURL };

export default defineConfig<object, Surroundings>({
  testDir: "e2e",
  // Each journey has accounts of its own. What the platform of functions says at the end is about all of them.
  workers: functions ? 1 : 2,
  // Generous, since a job shares the cores with everything else; each wait ends as soon as its condition holds.
  timeout: 360_000,
  expect: { timeout: 120_000 },
  forbidOnly: Boolean(process.env.CI),
  webServer: [
    { ...server, name: "web", ...web },
    {
      ...server,
      name: "worker",
      command: `"${process.execPath}" scripts/worker.ts`,
      wait: { stdout: /The worker is running/ },
    },
  ],
  // Recording the pages makes a run a sixth longer: `pnpm e2e --trace=retain-on-failure` does it for what fails.
  use: { baseURL, comfyPort, llmPort, serverEnv, trace: "off", launchOptions: await chooseBrowser() },
  projects: chooseProjects(),
});
