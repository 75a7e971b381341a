import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { envNames, findMisspelled, inspectEnv, parseEnv } from "./env.ts";

test("A2 .env.example names every setting once, with its default", () => {
  const lines = readFileSync(".env.example", "utf8").split("\n");
  const shown = lines.flatMap((line) => /^# ([A-Z0-9_]+)=(.*)$/.exec(line)?.slice(1, 3) ?? []);
  const pairs = shown.flatMap((name, at) => (at % 2 === 0 ? [[name, shown[at + 1]] as const] : []));
  expect(pairs.map(([name]) => name).toSorted()).toEqual(envNames.toSorted());
  const values = new Map(pairs);
  for (const [name, value] of Object.entries(parseEnv({}).env ?? {})) {
    expect(`${name}=${values.get(name)}`).toBe(`${name}=${String(value)}`);
  }
});

/** Of OpenTelemetry, of an answer of Google, and of the programs that call the studio. */
const ofOthers = /^(?:OTEL_|NO_IMAGE$|ATELIER_API_KEY$)/;

test("a document names no setting that .env.example does not have", () => {
  const groups = new Set(envNames.map((name) => name.split("_", 1)[0]));
  const named = globSync(["README.md", "SECURITY.md", "CONTRIBUTING.md", "docs/*.md"]).flatMap((document) =>
    [...readFileSync(document, "utf8").matchAll(/`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?:=[^`]*)?`/g)].map(
      ([, name = ""]) => ({ document, name }),
    ),
  );
  const own = named.filter(({ name }) => groups.has(name.split("_", 1)[0]));
  expect(own.length).toBeGreaterThan(100);
  expect(own.filter(({ name }) => !envNames.includes(name) && !ofOthers.test(name))).toEqual([]);
});

test("A1 all problems are listed at once, also those between names", () => {
  const { problems } = inspectEnv({
    DATABASE_URL: "mysql://db",
    DATABASE_DIRECT_URL: "postgres://db/atelier",
    PORT: "seventy",
    AUTH_SECRET: "short",
    LOG_LEVEL: "loud",
  });
  expect(problems.map(({ name }) => name).toSorted()).toEqual([
    "AUTH_SECRET",
    "DATABASE_URL",
    "LOG_LEVEL",
    "PORT",
  ]);
});

const functionEnv = {
  DATABASE_URL: "postgres://pooler/atelier",
  DATABASE_POOLER: "transaction",
  REDIS_URL: "redis://redis",
  S3_BUCKET: "atelier",
  S3_ACCESS_KEY_ID: "id",
  S3_SECRET_ACCESS_KEY: "secret",
  APP_URL: "https://atelier.example.org",
  AUTH_SECRET: "a-secret-for-tests-that-is-long-enough",
};

test("A3 as a function the web names all that it needs and lacks, Redis and the bucket first among them", () => {
  const { problems } = inspectEnv({ FUNCTION_SECONDS: "60" });
  const names = problems.map(({ name }) => name);
  expect(names.toSorted()).toEqual(["APP_URL", "AUTH_SECRET", "DATABASE_URL", "REDIS_URL", "S3_BUCKET"]);
  expect(inspectEnv({ ...functionEnv, FUNCTION_SECONDS: "60" }).problems).toEqual([]);
});

test("A3 on Vercel the time of a function is the one of vercel.json", () => {
  const { functions } = JSON.parse(readFileSync("vercel.json", "utf8"));
  const [{ maxDuration }] = Object.values<{ maxDuration: number }>(functions) as [{ maxDuration: number }];
  expect(parseEnv({ ...functionEnv, VERCEL: "1" }).env?.FUNCTION_SECONDS).toBe(maxDuration);
  expect(parseEnv({ ...functionEnv, VERCEL: "1", FUNCTION_SECONDS: "20" }).env?.FUNCTION_SECONDS).toBe(20);
  expect(parseEnv({ ...functionEnv, VERCEL: "1", REDIS_URL: "" }).problems).toMatchObject([
    { name: "REDIS_URL" },
  ]);
});

test("A3 a server behind a pooler needs the address of the database itself, a function does not", () => {
  const missing = [{ name: "DATABASE_DIRECT_URL", message: expect.stringContaining("LISTEN") }];
  expect(inspectEnv(functionEnv).problems).toEqual(missing);
  expect(inspectEnv({ ...functionEnv, FUNCTION_SECONDS: "60" }).problems).toEqual([]);
});

test("A14 S1 a worker's token that no header could bear is refused", () => {
  const problemsOf = (token: string) =>
    inspectEnv({ WORKER_HTTP_TOKEN: token }).problems.map(({ message }) => message);
  expect(problemsOf("a-token-of-the-worker")).toEqual([]);
  for (const token of ["a token of the worker", "a-token-of-the-worker\n", "a-töken-of-the-worker"])
    expect(problemsOf(token)).toEqual([expect.stringContaining("without blanks")]);
});

test.each([
  ["REPLICATE_API_KEY", '"r8_abc"', "quotes"],
  ["REPLICATE_API_KEY", "'r8_abc,r8_def' ", "quotes"],
  ["APP_URL", '"https://atelier.example.org"', "quotes"],
  ["PORT", "'3000'", "quotes"],
  ["OIDC_CLIENT_SECRETS", `'{"google":"s3cret"}'`, "quotes"],
  ["FAL_API_KEY", "id:s3cret,id:s3\u{200b}cret", "ASCII"],
  ["GOOGLE_API_KEY", "AIza\u2026", "ASCII"],
  ["OPENAI_IMAGES_API_KEY", "Bearer sk-1", "without Bearer"],
  ["KIE_API_KEY", "one\ntwo", "without blanks"],
  ["LLM_API_KEY", "\u201csk-1\u201d", "ASCII"],
  ["ANTHROPIC_API_KEY", "s\u043a-1", "ASCII"],
])("A1 %s refuses %j, which the other side would take for a wrong key", (name, value, text) => {
  const { problems } = inspectEnv({ S3_BUCKET: "atelier", S3_ACCESS_KEY_ID: "id", [name]: value });
  const ofName = problems.filter((problem) => problem.name === name).map(({ message }) => message);
  expect(ofName).toContainEqual(expect.stringContaining(text));
  expect(JSON.stringify(ofName)).not.toMatch(/s3.?cret|r8_/);
});

test("A1 keys with a newline at their end, several of them, and texts that begin with a quote are taken", () => {
  const secret = '"a quoted secret that has worked so far, with its quotes"';
  const { env, problems } = inspectEnv({
    FAL_API_KEY: "id:secret, id:second \n",
    LLM_API_KEY: " not needed\r\n",
    S3_BUCKET: "atelier",
    S3_ACCESS_KEY_ID: "id",
    S3_SECRET_ACCESS_KEY: "'correct horse, battery stäple'",
    NO_PROXY: '"localhost,10.0.0.5,nas.lan"',
    AUTH_SECRET: secret,
    SMTP_URL: "smtp://mail",
    SMTP_FROM: '"Atelier" <atelier@example.org>',
  });
  expect(problems).toEqual([]);
  expect(env).toMatchObject({
    FAL_API_KEY: ["id:secret", "id:second"],
    LLM_API_KEY: "not needed",
    S3_SECRET_ACCESS_KEY: "'correct horse, battery stäple'",
    AUTH_SECRET: secret,
  });
});

test("HOST may have the brackets of an address in a URL", () => {
  expect(inspectEnv({ HOST: "[::1]" })).toMatchObject({ env: { HOST: "::1" }, problems: [] });
});

test("A2 what is valid is kept beside what is wrong, and blank counts as unset", () => {
  const { env, problems } = inspectEnv({ PORT: "99999", HOST: " ", ATELIER_DATA_DIR: "/srv/atelier" });
  expect(problems.map(({ name }) => name)).toEqual(["PORT"]);
  expect(env).toMatchObject({ PORT: 3000, HOST: "127.0.0.1", ATELIER_DATA_DIR: "/srv/atelier" });
  expect(parseEnv({ PORT: "99999" }).env).toBeNull();
});

test.each([
  ["COMFYUI_URL", "COMFYUI_URLS"],
  ["COMFY_UI_URLS", "COMFYUI_URLS"],
  ["comfyui_urls", "COMFYUI_URLS"],
  ["REPLICATE_API_TOKEN", "REPLICATE_API_KEY"],
  ["FAL_KEY", "FAL_API_KEY"],
  ["REDIS_URI", "REDIS_URL"],
  ["DATABASE_URI", "DATABASE_URL"],
  ["S3_ENDPOINTS", "S3_ENDPOINT"],
  ["EXISTING_CLIENT", "EXISTING_CLIENTS"],
  ["WORKER_GPU_SLOT", "WORKER_GPU_SLOTS"],
  ["SIGNUP", "SIGN_UP"],
])("A1 a mistyped %s is noticed, with %s as the right name", (written, right) => {
  expect(findMisspelled({ [written]: "x" })).toEqual([
    { name: written, message: `is not a setting; did you mean ${right}?` },
  ]);
});

test("A1 names of other programs, and a near name beside the right one, are no matter of ours", () => {
  const foreign = [
    "https_proxy",
    "http_proxy",
    "all_proxy",
    "no_proxy",
    "PATH",
    "HOME",
    "SHELL",
    "USER",
    "LANG",
    "HOSTNAME",
    "PWD",
    "NODE_ENV",
    "DOCKER_HOST",
  ];
  expect(findMisspelled(Object.fromEntries(foreign.map((name) => [name, "x"])))).toEqual([]);
  expect(findMisspelled({ REDIS_URI: "x", REDIS_URL: "redis://redis" })).toEqual([]);
});

test("what describes pictures may neither cost anything nor be elsewhere: such a setting is refused with a sentence", () => {
  const local = { LLM_VISION_MODEL: "local/eyes" };
  const refused: readonly (readonly [Record<string, string>, string, RegExp])[] = [
    [{ LLM_VISION_MODEL: "openai/gpt-5.6-sol", OPENAI_API_KEY: "sk-1" }, "LLM_VISION_MODEL", /must be local/],
    [
      { LLM_VISION_MODEL: "anthropic/claude", LLM_BASE_URL: "http://gpu.lan/v1" },
      "LLM_VISION_MODEL",
      /must be local/,
    ],
    [local, "LLM_BASE_URL", /is missing/],
    [{ ...local, LLM_BASE_URL: "https://llm.example.com/v1" }, "LLM_VISION_MODEL", /own network/],
    [{ ...local, LLM_BASE_URL: "http://93.184.215.14/v1" }, "LLM_VISION_MODEL", /own network/],
  ];
  for (const [source, name, message] of refused)
    expect(inspectEnv(source).problems).toMatchObject([{ name, message: expect.stringMatching(message) }]);
  const taken = [
    { ...local, LLM_BASE_URL: "http://127.0.0.1:11434/v1" },
    { LLM_VISION_MODEL: "qwen2.5-vl", LLM_BASE_URL: "http://gpu.lan:8080" },
    { ...local, LLM_BASE_URL: "https://llm.example.com/v1", ALLOWED_PRIVATE_HOSTS: "llm.example.com" },
  ];
  for (const source of taken) expect(inspectEnv(source).problems).toEqual([]);
});
