import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import os from "node:os";
import path from "node:path";
import { inAll } from "@atelier/testing/cases";
import { startMailServer } from "@atelier/testing/deliveries";
import { type AnswerServer, type GivenAnswer, serveAnswers } from "@atelier/testing/http";
import { pictureRefusals, startLlm } from "@atelier/testing/llm";
import { startForgingProvider } from "@atelier/testing/identity";
import { startConnectProxy, testCertificate } from "@atelier/testing/network";
import { startProviders } from "@atelier/testing/providers";
import { startBotApi } from "@atelier/testing/telegram";
import { afterEach, describe, expect, test } from "vitest";
import { gateModel } from "../gate/index.ts";
import { modelPath } from "../models/index.ts";
import { inspectEnv, parseConfig } from "../platform/index.ts";
import { retellFinding, wordsIn } from "../words.ts";
import { checkConnections, finish, type Finding } from "./index.ts";
import { clean, secretsOf } from "./other-side.ts";
import { checkClocks } from "./outside.ts";

type Source = Readonly<Record<string, string>>;

const opened: { close(): unknown }[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
});
const keep = <T extends { close(): unknown }>(one: T): T => {
  opened.push(one);
  return one;
};

async function findingsOf(source: Source, mailTo: string | null = null): Promise<Finding[]> {
  const { env, problems } = inspectEnv(source);
  expect(problems).toEqual([]);
  const results = await checkConnections({
    env,
    config: parseConfig({}),
    database: Promise.resolve(null),
    mailTo,
  });
  const findings = finish(results, env);
  const words = await wordsIn("de");
  // Whatever was found, an admin who reads another language reads it there.
  const told = findings.filter(({ message }) => message.includes(" "));
  for (const { message } of told) expect([message, retellFinding(message, words)]).not.toContain(null);
  return findings;
}

async function oneOf(source: Source, name: string): Promise<Finding> {
  const found = (await findingsOf(source)).filter((finding) => finding.name.startsWith(name));
  expect(found).toHaveLength(1);
  return found[0] ?? { name, state: "ok", message: "" };
}

test("S5 a gate that is on without its model, or with a damaged one, is told, and one that is off is not", async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), "atelier-doctor-gate-"));
  try {
    const { env } = inspectEnv({ ATELIER_DATA_DIR: folder });
    const find = async (safety: object) =>
      (
        await checkConnections({
          env,
          config: parseConfig({ safety }),
          database: Promise.resolve(null),
          mailTo: null,
        })
      ).filter(({ name }) => name === "Content check");
    expect(await find({})).toEqual([]);
    const refuseInputs = { outfit_change: 0.8 };
    expect(await find({ refuseInputs })).toMatchObject([
      { isOk: false, message: expect.stringContaining("outfit_change") },
    ]);
    await mkdir(path.join(folder, "models"));
    await writeFile(modelPath({ ATELIER_DATA_DIR: folder }, gateModel), "no model");
    expect(await find({ refuseInputs })).toMatchObject([
      { isOk: false, message: expect.stringContaining("damaged") },
    ]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

describe("identity providers", () => {
  const wellKnown = "/.well-known/openid-configuration";
  const lookAt = async (issuer: string, more: Source = {}) => {
    const { env } = inspectEnv({
      APP_URL: "https://studio.example.org",
      OIDC_CLIENT_SECRETS: JSON.stringify({ house: canary }),
      ...more,
    });
    const house = { name: "The House", issuer, clientId: "atelier" };
    const config = parseConfig({ signIn: { providers: { house } } });
    const found = await checkConnections({ env, config, database: Promise.resolve(null), mailTo: null });
    return finish(found, env).filter(({ name }) => /^(Sign-in provider|OIDC)/.test(name));
  };

  test("one that answers as configured passes, with the redirect address that its client must allow", async () => {
    const { issuer } = keep(await startForgingProvider());
    expect(await lookAt(issuer)).toEqual([
      {
        name: "Sign-in provider house",
        state: "ok",
        message: expect.stringMatching(
          /with 1 key; .*atelier must allow https:\/\/studio\.example\.org\/api\/auth\/callback\/house;/,
        ),
      },
    ]);
    // As a sign-in compares them.
    for (const spelling of [`${issuer}/`, `${issuer}/.well-known/openid-configuration`])
      expect(await lookAt(spelling)).toMatchObject([{ state: "ok" }]);
    const [spelled] = await lookAt(issuer.replace("127.0.0.1", "localhost"));
    expect(spelled).toMatchObject({
      state: "fail",
      message: expect.stringContaining(`calls itself ${issuer};`),
    });
    const [, misnamed] = await lookAt(issuer, { OIDC_CLIENT_SECRETS: JSON.stringify({ huose: canary }) });
    expect(misnamed).toMatchObject({ state: "warn", message: expect.stringContaining("huose") });
  });

  test.each<[string, GivenAnswer, string]>([
    [
      "refuses, with a secret",
      { status: 403, body: JSON.stringify({ error_description: `no ${canary}` }) },
      "no [secret]",
    ],
    ["is a page", { type: "text/html", body: "<title>Welcome</title>" }, "Welcome"],
    ["is too large", { body: `{"issuer":"${"x".repeat(300_000)}"}` }, "more than 256 KB"],
    ["cuts the connection", "reset", "the connection was cut"],
    ["names nobody", { body: "{}" }, "does not say its issuer"],
  ])("one that %s fails with its own words and what to change", async (_, answer, words) => {
    const { url } = await serve(answer);
    expect(await lookAt(url)).toMatchObject([{ state: "fail", message: expect.stringContaining(words) }]);
  });

  test("one whose keys cannot be had, or that lacks an endpoint, fails", async () => {
    const endpoints = (url: string, more: object) =>
      JSON.stringify({
        issuer: url,
        authorization_endpoint: `${url}/auth`,
        token_endpoint: `${url}/token`,
        jwks_uri: `${url}/jwks`,
        ...more,
      });
    let document: object = {};
    const server: AnswerServer = keep(
      await serveAnswers(({ path }) =>
        path === wellKnown ? { body: endpoints(server.url, document) } : { body: '{"keys":[]}' },
      ),
    );
    const messageWith = async (more: object) => {
      document = more;
      return (await lookAt(server.url))[0]?.message;
    };
    expect(await messageWith({})).toContain("no keys");
    expect(await messageWith({ token_endpoint: null })).toContain("no token_endpoint");
    expect(await messageWith({ response_types_supported: ["id_token"] })).toContain("code flow");
    // A name with a gap in it, which no token has, also where the address of the document is configured.
    document = { issuer: `${server.url}/{tenantid}` };
    expect((await lookAt(`${server.url}${wellKnown}`))[0]?.message).toContain(
      "{tenantid}; the configuration",
    );
  });
});

const serve = async (answer: GivenAnswer) => keep(await serveAnswers(() => answer));

async function serveTls(): Promise<AnswerServer> {
  const server = createServer(testCertificate, (_request, response) => response.end("{}"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return keep({ url, requests: [], close: async () => void server.close() });
}

const canary = "canary-0123456789-secret";
const token = `7000000001:${canary}`;

/** How each kind of other side is named in the environment, and which line is about it. */
const sides: Readonly<Record<string, { name: string; source: (url: string) => Source }>> = {
  model: {
    name: "Language model local/llama (",
    source: (url) => ({ LLM_BASE_URL: `${url}/v1`, LLM_API_KEY: canary, LLM_RESPONDER_MODEL: "llama" }),
  },
  provider: {
    name: "Replicate",
    source: (url) => ({ REPLICATE_BASE_URL: url, REPLICATE_API_KEY: canary }),
  },
  bot: { name: "Telegram bot", source: (url) => ({ TELEGRAM_API_ROOT: url, TELEGRAM_BOT_TOKEN: token }) },
};

const unkind: readonly (readonly [string, GivenAnswer, string])[] = [
  [
    "a wrong key, repeated",
    { status: 401, body: JSON.stringify({ error: { message: `Invalid key ${canary}, sorry` } }) },
    "Invalid key [secret], sorry",
  ],
  [
    "a page of a sign-in",
    { status: 403, type: "text/html", body: `<html><title>Sign in to Foo</title><p>${canary}</html>` },
    "Sign in to Foo",
  ],
  [
    "plain words",
    { status: 400, type: "text/plain", body: `No such\u0000 thing:\n${canary}` },
    "No such thing: [secret]",
  ],
  [
    "a fault of its own",
    { status: 503, body: `{"detail":"overloaded, token=${canary}"}` },
    "overloaded, token=[secret]",
  ],
  ["a cut connection", "reset", "cut"],
];

describe.each(Object.entries(sides))("an unkind %s", (_kind, { name, source }) => {
  test.each(unkind)("%s", async (_what, answer, words) => {
    const { url } = await serve(answer);
    const finding = await oneOf(source(url), name);
    // The clients of providers hide keys themselves.
    expect(finding.message.replaceAll("[key]", "[secret]")).toContain(words);
    expect(finding.state).not.toBe("ok");
    expect(JSON.stringify(finding)).not.toContain(canary);
    expect(finding.message.length).toBeLessThan(500);
  });

  test("a huge answer, an unknown certificate and nothing at all are told apart", async () => {
    const huge = await serve({ body: `${" ".repeat(6_000_000)}${canary}` });
    const tls = await serveTls();
    const closed = await serveAnswers(() => ({}));
    await closed.close();
    const findings = await Promise.all([huge, tls, closed].map(({ url }) => oneOf(source(url), name)));
    expect(findings.map(({ state }) => state)).toEqual(["fail", "fail", "fail"]);
    expect(findings[1]?.message).toMatch(/self-signed/i);
    expect(findings[2]?.message).toMatch(/nothing listens|ECONNREFUSED/);
    expect(JSON.stringify(findings)).not.toContain(canary);
  });
});

test("a side that never answers hides no other one, and has its own line", inAll, async () => {
  const { url } = await serve("hang");
  const bot = keep(await startBotApi());
  const findings = await findingsOf({ ...bot.env, REPLICATE_BASE_URL: url, REPLICATE_API_KEY: canary });
  const stateOf = (name: string) => findings.find((finding) => finding.name === name)?.state;
  expect([stateOf("Replicate"), stateOf("Telegram bot"), stateOf("Mail server")]).toEqual([
    "fail",
    "ok",
    "not tried",
  ]);
});

test("a model at home is tried with all that the studio asks for; what it lacks is quoted", async () => {
  const llm = keep(await startLlm());
  llm.answer = ({ tools, response_format: format }) => {
    if (tools) return { status: 400, message: "this model does not support tools" };
    return { text: format ? "I would rather talk" : "yes" };
  };
  const findings = await findingsOf({
    LLM_BASE_URL: llm.url.replace("/v1", ""),
    LLM_RESPONDER_MODEL: "simulated",
  });
  const ofModel = findings.filter(({ name }) => name.startsWith("Language model local/simulated"));
  expect(ofModel).toMatchObject([
    { state: "ok", message: expect.stringMatching(/answers within .* s; streaming works/) },
    {
      state: "warn",
      name: expect.stringMatching(/tools$/),
      message: expect.stringContaining("“this model does not support tools”"),
    },
    { state: "warn", name: expect.stringMatching(/JSON$/) },
  ]);
});

test("a model that describes pictures is shown one; what refuses it is quoted, and other models are tried as ever", async () => {
  const llm = keep(await startLlm());
  const source = { ...llm.env, LLM_VISION_MODEL: "local/eyes" };
  const ofPictures = async () => (await findingsOf(source)).filter(({ name }) => name.endsWith("(pictures)"));
  expect(await ofPictures()).toMatchObject([
    {
      state: "ok",
      name: expect.stringContaining("local/eyes"),
      message: expect.stringContaining("takes pictures"),
    },
  ]);
  expect(llm.requests.filter(({ model }) => model === "eyes")).toHaveLength(1);
  expect(llm.requests.some(({ model }) => model === "simulated")).toBe(true);
  const refusal = pictureRefusals["LM Studio"] ?? {};
  llm.answer = () => refusal;
  expect(await ofPictures()).toMatchObject([
    { state: "fail", message: expect.stringMatching(/LLM_VISION_MODEL.*Model does not support images/s) },
  ]);
});

test("a model behind an address with a query is tried with that query, and its list is found", async () => {
  const llm = keep(await startLlm({ azureKey: canary }));
  llm.answer = () => ({ text: '{"ok":true}' });
  expect(await oneOf(llm.env, "Language model")).toMatchObject({
    state: "ok",
    message: expect.stringContaining("streaming, tools, JSON work"),
  });
  const refused = await oneOf({ ...llm.env, LLM_API_KEY: "another-canary" }, "Language model");
  expect(refused).toMatchObject({ state: "fail", message: expect.stringContaining("correct LLM_API_KEY") });
});

const chatAnswer = '{"choices":[{"message":{"content":"{\\"ok\\":true}"}}]}';

test.each<readonly [string, Source, string, string]>([
  [
    "llama.cpp",
    { "/props": '{"default_generation_settings":{"n_ctx":4096}}' },
    "warn",
    "context of 4096 tokens",
  ],
  [
    "Ollama",
    { "/api/ps": '{"models":[{"name":"m:latest","context_length":32768}]}' },
    "ok",
    "context of 32768",
  ],
  [
    "Ollama, told",
    { "/api/show": '{"parameters":"num_ctx    2048","model_info":{"llama.context_length":131072}}' },
    "warn",
    "2048",
  ],
  ["vLLM", { "/v1/models": '{"data":[{"id":"m","max_model_len":16384}]}' }, "ok", "context of 16384"],
  ["a silent one", {}, "ok", "does not tell its context"],
  [
    "a refusal with status 200",
    { "/v1/chat/completions": '{"error":"model \'m\' not found, try pulling it first"}' },
    "fail",
    "“model 'm' not found, try pulling it first”; it has other",
  ],
])("a server at home, %s", async (_name, given, state, words) => {
  const usual: Source = { "/v1/models": '{"data":[{"id":"other"}]}', "/v1/chat/completions": chatAnswer };
  const server = keep(
    await serveAnswers(({ path }) => {
      const body = given[path] ?? usual[path];
      return body === undefined ? { status: 404, type: "text/plain", body: "404 page not found" } : { body };
    }),
  );
  const findings = await findingsOf({ LLM_BASE_URL: server.url, LLM_RESPONDER_MODEL: "m" });
  const [model] = findings.filter(({ name }) => name.startsWith("Language model"));
  expect(model?.state).toBe(state);
  for (const part of words.split("; ")) expect(model?.message).toContain(part);
});

test("a model of a vendor is looked for at the gateway that it is called at, which alone gets the key", async () => {
  const isListed = (path: string) => path === "/v1/models/gpt-known";
  const gateway = keep(
    await serveAnswers(({ path }) => (isListed(path) ? { body: "{}" } : { status: 404, body: "{}" })),
  );
  const url = `${gateway.url}/v1`;
  const stateOf = async (source: Source) => (await oneOf(source, "Language model")).state;
  const all = (model: string) => ({
    LLM_ANALYZER_MODEL: model,
    LLM_RESPONDER_MODEL: model,
    LLM_ARCHIVIST_MODEL: model,
  });
  const ofOpenai = { OPENAI_BASE_URL: `${url}/`, OPENAI_API_KEY: canary };
  const ofAnthropic = { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: canary };
  expect(await stateOf({ ...ofOpenai, ...all("openai/gpt-known") })).toBe("ok");
  expect(await stateOf({ ...ofOpenai, ...all("openai/gpt-other") })).toBe("warn");
  expect(await stateOf({ ...ofAnthropic, ...all("anthropic/claude-x") })).toBe("warn");
  const asked = gateway.requests.map(({ path, headers }) => [
    path,
    headers.authorization ?? headers["x-api-key"],
  ]);
  expect(asked).toEqual([
    ["/v1/models/gpt-known", `Bearer ${canary}`],
    ["/v1/models/gpt-other", `Bearer ${canary}`],
    ["/v1/models/claude-x", canary],
  ]);
});

test("a model that may cost money is asked for nothing", async () => {
  const llm = keep(await startLlm());
  // A public name that leads here would do; the operator's own word counts the same.
  const proxy = keep(await startConnectProxy(Number(new URL(llm.url).port)));
  const { useProxies } = await import("../platform/index.ts");
  const source = {
    HTTP_PROXY: proxy.url,
    LLM_BASE_URL: "http://llm.example.com/v1",
    LLM_RESPONDER_MODEL: "simulated",
  };
  useProxies(inspectEnv(source).env);
  const finding = await oneOf(source, "Language model");
  useProxies(inspectEnv({}).env);
  expect(finding).toMatchObject({ state: "ok", message: expect.stringContaining("it may cost money") });
  expect([llm.requests.length, proxy.asked]).toEqual([0, ["GET http://llm.example.com/v1/models"]]);
});

test("keys of providers are shown to them by calls that buy nothing; some have none", async () => {
  const names = ["replicate", "fal", "google", "kie", "fashn", "openai", "higgsfield"] as const;
  const providers = keep(await startProviders(names));
  const findings = await findingsOf(providers.env);
  const untried = findings.filter(({ message }) => message === "it has no call that costs nothing");
  expect(untried.map(({ name }) => name).toSorted()).toEqual(["Higgsfield", "fal"]);
  for (const name of names) {
    expect(providers.simulators[name].submits).toEqual([]);
    expect(providers.simulators[name].calls.every((call) => call.startsWith("GET "))).toBe(true);
  }
  const kie = await serve({ body: '{"code":401,"msg":"You do not have access permissions"}' });
  const refused = await oneOf({ KIE_BASE_URL: kie.url, KIE_API_KEY: canary }, "Kie");
  expect(refused).toMatchObject({
    state: "fail",
    message: expect.stringMatching(/HTTP 401.*“You do not have access/),
  });
  const empty = await serve({ body: '{"code":200,"msg":"success","data":0}' });
  expect(await oneOf({ KIE_BASE_URL: empty.url, KIE_API_KEY: canary }, "Kie")).toMatchObject({
    state: "warn",
  });
});

test("mail: the sign-in is tried, a message is sent only where one is asked for", async () => {
  const server = keep(await startMailServer({ user: "studio", password: canary }));
  const source = { SMTP_URL: server.url, SMTP_FROM: "studio@example.org" };
  expect(await oneOf(source, "Mail server")).toMatchObject({
    state: "ok",
    message: expect.stringContaining("no message was sent"),
  });
  expect(server.received).toEqual([]);
  const wrong = await oneOf(
    { ...source, SMTP_URL: server.url.replace(canary, "wrong-canary-9") },
    "Mail server",
  );
  expect(wrong).toMatchObject({
    state: "fail",
    message: expect.stringMatching(/refuses the sign-in.*“535.*wrong password”/),
  });
  expect(wrong.message).not.toContain("wrong-canary-9");
  const findings = await findingsOf(source, "admin@example.org");
  expect(findings.find(({ name }) => name === "Mail server")?.state).toBe("ok");
  expect(server.received.map(({ to }) => to)).toEqual([["admin@example.org"]]);
});

test("a bot whose messages go elsewhere is named", async () => {
  const answers = keep(
    await serveAnswers(({ path }) => ({
      body: path.endsWith("/getMe")
        ? '{"ok":true,"result":{"username":"my_bot"}}'
        : '{"ok":true,"result":{"url":"https://other.example.org/hook","pending_update_count":3}}',
    })),
  );
  const source = { TELEGRAM_API_ROOT: answers.url, TELEGRAM_BOT_TOKEN: token };
  expect(await oneOf(source, "Telegram bot")).toMatchObject({
    state: "fail",
    message: expect.stringContaining("go to a webhook"),
  });
  expect(await oneOf({ ...source, TELEGRAM_BOT_NAME: "other_bot" }, "Telegram bot")).toMatchObject({
    state: "warn",
  });
});

test("the address for alerts is reached without a message, and its path is a secret", async () => {
  const answers = keep(await serveAnswers(({ path }) => ({ status: 405, body: path })));
  const url = `${answers.url}/services/T0001/${canary}`;
  const finding = await oneOf({ ALERT_WEBHOOK_URL: url }, "ALERT_WEBHOOK_URL");
  expect(finding.state).toBe("ok");
  expect(answers.requests.map(({ method }) => method)).toEqual(["HEAD"]);
});

test("the collector of traces is sent an empty list, and its refusal is quoted", async () => {
  let given: { readonly status: number; readonly body: string } = { status: 200, body: "{}" };
  const answers = keep(await serveAnswers(() => given));
  const check = () => oneOf({ OTEL_EXPORTER_OTLP_ENDPOINT: answers.url }, "Trace collector");
  expect(await check()).toMatchObject({ state: "ok" });
  expect(answers.requests.map(({ method, path, body }) => [method, path, body])).toEqual([
    ["POST", "/v1/traces", '{"resourceSpans":[]}'],
  ]);
  given = { status: 404, body: "no such route here" };
  expect(await check()).toMatchObject({
    state: "fail",
    message: expect.stringMatching(/HTTP 404.*without \/v1\/traces.*no such route here/s),
  });
  given = { status: 401, body: "who are you" };
  expect(await check()).toMatchObject({ state: "warn", message: expect.stringContaining("who are you") });
  given = { status: 200, body: "{}" };
  const own = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${answers.url}/in?team=a` };
  expect(await oneOf(own, "Trace collector")).toMatchObject({ state: "ok" });
  expect(answers.requests.at(-1)?.path).toBe("/in?team=a");
  const sent = answers.requests.length;
  const off = await oneOf({ ...own, OTEL_SDK_DISABLED: "true" }, "Trace collector");
  expect([off.message, answers.requests.length]).toEqual([
    "OTEL_SDK_DISABLED is set: nothing is traced",
    sent,
  ]);
});

test("a proxy is asked for a way to a host that the studio calls, and its refusal is quoted", async () => {
  const proxy = keep(await startConnectProxy(1));
  proxy.refusal = 407;
  const source = { HTTPS_PROXY: proxy.url.replace("//", `//me:${canary}@`), TELEGRAM_BOT_TOKEN: token };
  const findings = await findingsOf({ ...source, TELEGRAM_API_ROOT: "https://bot.example.com" });
  expect(findings.find(({ name }) => name.startsWith("Proxy "))).toMatchObject({
    state: "fail",
    message: expect.stringMatching(/bot\.example\.com:443 cannot be reached.*answered 407/),
  });
  expect(proxy.asked).toContain("CONNECT bot.example.com:443");
  expect(JSON.stringify(findings)).not.toContain(canary);
});

test.each([
  [[], "not tried"],
  [[{ side: "a", aheadMs: 29_000 }], "ok"],
  [
    [
      { side: "a", aheadMs: 0 },
      { side: "the database", aheadMs: -31_000 },
    ],
    "warn",
  ],
  [[{ side: "a", aheadMs: 90_000 }], "warn"],
])("clocks %j: %s", (clocks, state) => {
  expect(finish([checkClocks(clocks)], {})).toMatchObject([{ state }]);
});

test.each<readonly [string, Source, string]>([
  ["a key", { OPENAI_API_KEY: canary }, `x ${canary.toUpperCase()} y`],
  ["one of several keys", { FAL_API_KEY: `first-key-0,${canary}` }, canary],
  [
    "a password with signs",
    { SMTP_URL: `smtp://u:${encodeURIComponent('p&"w<0rd')}@h` },
    'p&"w<0rd p&amp;&quot;w&lt;0rd p%26%22w%3C0rd',
  ],
  ["a header of a server", { SERVER_HEADERS: `{"http://gpu":{"Authorization":"Bearer ${canary}"}}` }, canary],
  ["a token of an address", { COMFYUI_URLS: `http://gpu:8188?token=${canary}` }, canary],
  [
    "a sign-in as a header has it",
    { IOPAINT_URLS: "http://me:secret-pass@gpu" },
    Buffer.from("me:secret-pass").toString("base64"),
  ],
  ["a secret in base64", { AUTH_SECRET: "s".repeat(40) }, Buffer.from("s".repeat(40)).toString("base64")],
  ["a bot's address", { TELEGRAM_BOT_TOKEN: token }, `https://api.telegram.org/bot${token}/getMe`],
  [
    "one that invisible signs break",
    { OPENAI_API_KEY: canary },
    `${canary.slice(0, 8)}\u200b${canary.slice(8, 12)}\0${canary.slice(12)}`,
  ],
])("%s is in no line", (_what, source, text) => {
  const shown = clean(text, secretsOf(inspectEnv({ SMTP_FROM: "a@b.org", ...source }).env), 200);
  expect(shown).toContain("[secret]");
  for (const part of ["canary", "w<0rd", "w%3C0rd", "secret-pass", "sssss"])
    expect(shown.toLowerCase()).not.toContain(part);
});
