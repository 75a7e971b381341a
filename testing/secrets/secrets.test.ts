// @module-tag all
import { afterAll, beforeAll, expect, test } from "vitest";
import { resolveCaller } from "@atelier/server/accounts";
import { handleProviderWebhook } from "@atelier/server/api";
import { schema } from "@atelier/server/db";
import { createEndpoint, requestEmailCode, rotateSecret } from "@atelier/server/deliveries";
import { submit } from "@atelier/server/jobs";
import { type ProviderName, providerNames, setCaps } from "@atelier/server/providers";
import type { Services } from "@atelier/server/services";
import { waitUntil } from "../../scripts/process/tools.ts";
import cloudConfig from "../config/cloud.config.ts";
import { startMailServer, startWebhookReceiver } from "../deliveries/index.ts";
import { addImage, addNode, untilAll } from "../jobs/index.ts";
import { type ProviderFault, type Providers, startProviders } from "../providers/index.ts";
import { captureLog, createTestServices, openAccount, openAdmin, testOrigin } from "../services/index.ts";
import { linkOwner, startBotApi } from "../telegram/index.ts";
import { startTestWorker } from "../worker/index.ts";
import { readBackup, readColumns, readExport, readHttp, readTrpc } from "./surfaces.ts";

/** What was shown, written or sent, by the place where it was. */
const seen = new Map<string, string>();
/** The values that must be nowhere, by their names. */
const ofEnvironment = new Map<string, string>();
const ofRows = new Map<string, string>();

const closings: (() => Promise<unknown>)[] = [];
const setUpMs = 600_000;

beforeAll(async () => {
  const { log, lines } = captureLog();
  const { services, providers } = await open(log);
  for (const [name, value] of readSecrets(services)) ofEnvironment.set(name, value);
  const node = await addNode(services, { queue: "gpu-high" });
  const worker = await startTestWorker(services, { config: "cloud", env: { LOG_LEVEL: "trace" } });
  closings.push(() => worker.kill9());
  const { userId, headers, jobIds, endpointId } = await useAll(services, providers);
  const { headers: asAdmin } = await openAdmin(services, "admin@example.test");
  await keepTokens(services);

  const ids = [...jobIds.slice(0, 2), endpointId, node, "unknown"];
  for (const [who, as] of [["owner", headers] as const, ["admin", asAdmin] as const]) {
    for (const read of [readTrpc, readHttp])
      for (const [name, text] of await read(services, as, ids)) seen.set(`${who}: ${name}`, text);
  }
  seen.set("export", await readExport(services, userId));
  for (const [name, text] of await readColumns(services)) seen.set(`row: ${name}`, text);
  for (const [name, text] of await readBackup(services)) seen.set(`backup: ${name}`, text);
  await worker.term();
  seen.set("log of the worker", worker.output());
  seen.set("log of the web", lines.join("\n"));
}, setUpMs);
afterAll(async () => {
  for (const close of closings.toReversed()) await close();
});

/** A studio that has every secret that an operator may give it. */
async function open(log: ReturnType<typeof captureLog>["log"]) {
  const mail = await startMailServer({ user: "atelier", password: "another-one" });
  const api = await startBotApi();
  const providers = await startProviders(providerNames);
  const opened = await createTestServices({
    log,
    config: cloudConfig,
    env: {
      ...providers.env,
      ...api.env,
      SMTP_URL: mail.url.replace("another-one", "canary-password-of-the-mail-server"),
      SMTP_FROM: "Atelier <atelier@example.test>",
      APP_URL: testOrigin,
      ALLOWED_PRIVATE_HOSTS: "127.0.0.1",
      // Nothing listens there, and the second one is no address at all.
      COMFYUI_URLS: `127.0.0.1:1/comfy?token=${serverToken},two words?token=${serverToken}`,
      SERVER_HEADERS: JSON.stringify({ "127.0.0.1:1": { "X-API-Key": serverKey } }),
    },
  });
  closings.push(
    () => mail.close(),
    () => api.close(),
    () => providers.close(),
    () => opened.close(),
  );
  api.inject("getUpdates", { kind: "lost" }, { kind: "refuse", status: 500, text: "Internal" });
  api.inject("sendPhoto", { kind: "lost" });
  linked = () => linkOwner(opened.services, api.person());
  return { services: opened.services, providers };
}

const serverToken = "canary-token-of-a-server";
const serverKey = "canary-key-of-a-server";

let linked: () => ReturnType<typeof linkOwner>;

function readSecrets({ env }: Services): [string, string][] {
  const { SMTP_URL, TELEGRAM_BOT_TOKEN = "" } = env;
  const named = Object.entries(env).flatMap(([name, value]) =>
    /(_API_KEY|_SECRET)$/.test(name) && value !== undefined
      ? [value].flat().map((one) => [name, String(one)] as [string, string])
      : [],
  );
  const [, token = ""] = TELEGRAM_BOT_TOKEN.split(":");
  return [
    ...named,
    ["SMTP_URL", new URL(SMTP_URL ?? "").password],
    ["TELEGRAM_BOT_TOKEN", token],
    ["the token of a server", serverToken],
    ["SERVER_HEADERS", serverKey],
    ["the address of the bot", `/bot${TELEGRAM_BOT_TOKEN.split(":")[0]}`],
  ];
}

const requests: Readonly<Record<ProviderName, object>> = {
  replicate: { kind: "text_to_image", model: "flux-2-pro", params: { prompt: "a" } },
  fal: { kind: "text_to_image", model: "z-image-turbo", params: { prompt: "b" } },
  google: { kind: "text_to_image", model: "nano-banana", params: { prompt: "c" } },
  higgsfield: { kind: "text_to_image", model: "soul", params: { prompt: "d" } },
  openai: { kind: "text_to_image", model: "gpt-image", params: { prompt: "e" } },
  kie: { kind: "edit", model: "nano-banana-edit", params: { prompt: "f" } },
  fashn: { kind: "remove_background", model: "background-remove" },
};

/** Has every provider, receiver and channel used, well and badly. */
async function useAll(services: Services, providers: Providers) {
  const browser = await openAccount(services, "owner@example.test");
  const caller = await resolveCaller(services, browser.headers);
  if (!caller) throw new Error("the new account has no session");
  const ownerId = caller.userId;
  // As an admin allows it: a sign-up without an invitation spends nothing.
  await setCaps(services.db, ownerId, { dailyUsd: null, monthlyUsd: null });
  const receiver = await startWebhookReceiver();
  closings.push(() => receiver.close());
  receiver.inject("/hook", [{ kind: "status", status: 500 }, { kind: "reset" }]);
  const endpoint = await createEndpoint(services, { ownerId, url: `${receiver.url}/hook` });
  await requestEmailCode(services, ownerId).catch(() => undefined);
  const imageId = await addImage(services, ownerId);
  const jobIds: string[] = [];
  const submitAll = async (fault: ProviderFault | null) => {
    for (const simulator of Object.values(providers.simulators)) simulator.fault = fault;
    const ids: string[] = [];
    for (const [name, request] of Object.entries(requests)) {
      const inputs = name === "kie" || name === "fashn" ? { inputs: { image: imageId } } : {};
      ids.push((await submit(services, { ...request, ...inputs }, { submitter: caller })).id);
    }
    jobIds.push(...ids);
    await untilAll(services, ids, { statuses: ["completed", "failed"] });
  };
  await submitAll("auth");
  await submitAll(null);
  const friend = await linked();
  const request = { ...requests.replicate };
  const { id } = await submit(services, request, { submitter: friend });
  await untilAll(services, [id], { statuses: ["completed"] });
  const isSent = async () => (await services.db.$count(schema.deliveryAttempts)) >= 3;
  expect(await waitUntil(isSent, 90_000)).toBe(true);
  const { secret: newer } = await rotateSecret(services, { ownerId, id: endpoint.id });
  ofEnvironment.set("secret of the endpoint", newer);
  ofEnvironment.set("secret of the endpoint before", endpoint.secret);
  return { userId: ownerId, headers: browser.headers, jobIds, endpointId: endpoint.id };
}

/** The tokens that rows hold, after webhooks of providers came under them. */
async function keepTokens(services: Services): Promise<void> {
  const attempts = await services.db.select().from(schema.providerAttempts);
  for (const { id, token, provider } of attempts) {
    ofRows.set(`token of attempt ${id}`, token);
    const url = `${testOrigin}/api/webhooks/${provider}/${token}`;
    const answer = await handleProviderWebhook(services, new Request(url, { method: "POST", body: "{" }));
    seen.set(`webhook of ${provider} ${id}`, await answer.text());
  }
}

function findIn(secrets: ReadonlyMap<string, string>, isAllowed: (place: string) => boolean): string[] {
  return [...secrets].flatMap(([name, secret]) =>
    [...seen].flatMap(([place, text]) =>
      !isAllowed(place) && text.includes(secret) ? [`${name} in ${place}`] : [],
    ),
  );
}

test("S9 there are canaries, and what could show them was read", () => {
  expect(ofEnvironment.size).toBeGreaterThanOrEqual(providerNames.length + 5);
  for (const secret of [...ofEnvironment.values(), ...ofRows.values()])
    expect(secret.length).toBeGreaterThanOrEqual(8);
  expect(ofRows.size).toBeGreaterThan(10);
  const places = [...seen.keys()].join("\n");
  expect(places).toMatch(/admin: 200 cloud\.|admin: 200 admin\./);
  expect(places).toMatch(/owner: 200 cloud\.attempts/);
  expect(places).toContain("admin: 200 /metrics");
  expect(places).toContain("row: job_events.data");
  expect(seen.get("row: webhook_endpoints.secret")).toContain("sealed:");
  expect(seen.get("row: webhook_endpoints.previous_secret")).toContain("sealed:");
  expect(places).toContain("backup: tables/provider_attempts.gz");
  expect(seen.get("row: provider_attempts.error_message")).toContain("[key]");
  expect(seen.get("log of the worker")).toContain("provider failed");
  expect(seen.get("log of the worker")).toContain("delivery failed");
  expect(seen.get("log of the web")).toContain("webhook of a provider refused");
});

test("S9 keys, secrets, passwords and tokens of the environment, and secrets of webhooks, are in no log, row, event, answer, export or backup", () => {
  expect(findIn(ofEnvironment, () => false)).toEqual([]);
});

test("S9 tokens of attempts are in their own column alone", () => {
  const own = /^row: provider_attempts\.token$/;
  const saved = /^backup: tables\/provider_attempts\.gz$/;
  expect(findIn(ofRows, (place) => own.test(place) || saved.test(place))).toEqual([]);
});
