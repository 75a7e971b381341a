import { expect, test } from "vitest";
import { addressBelow, keyHeaders, modelsAddress } from "./env-addresses.ts";
import { inspectEnv } from "./env.ts";

function problemsOf(name: string, value: string): string[] {
  return inspectEnv({ [name]: value, SMTP_FROM: "a@example.org", SMTP_URL: "smtp://mail", [name]: value })
    .problems.filter((problem) => problem.name === name)
    .map(({ message }) => message);
}

const secret = /s3cr|12[#/?]|:12/;
const schemes = [
  ["DATABASE_URL", "postgres"],
  ["DATABASE_DIRECT_URL", "postgresql"],
  ["REDIS_URL", "rediss"],
  ["SMTP_URL", "smtps"],
  ["HTTPS_PROXY", "http"],
  ["http_proxy", "http"],
] as const;
const wrong =
  "s3cr#et s3cr/et s3cr?et s3cr%et 12#s3cr 12/s3cr 12?s3cr s3cr% s3cr%e4 #s3cr ?s3cr 12/s3cr# s3cr@x#y@z";

test.each(schemes)(
  "A1 a password in %s whose signs are not encoded is refused, and not shown",
  (name, scheme) => {
    const shown = name.toUpperCase();
    // Redis knows its databases by number.
    const path = scheme === "rediss" ? "0" : "x";
    const ofAddress = (password: string) =>
      inspectEnv({ [name]: `${scheme}://me:${password}@db.example.org:5432/${path}` })
        .problems.filter((problem) => problem.name === shown)
        .map(({ message }) => ({ password, message }));
    for (const password of wrong.split(" ")) {
      const message: unknown = expect.stringContaining("percent-encoded");
      expect(ofAddress(password)).toEqual([{ password, message }]);
      expect(JSON.stringify(ofAddress(password).map((found) => found.message))).not.toMatch(secret);
    }
    for (const password of [":", "a%23b%2Fc%3Fd%25", "ä ö", "a@b", "12", "", "[x]", "p:q", "a+b&c=d"])
      expect(ofAddress(encodeURIComponent(password))).toEqual([]);
    // What these signs mean in an address is never in doubt.
    for (const password of ["pa,ss", ",", "a;b$c!"]) expect(ofAddress(password)).toEqual([]);
  },
);

test.each([
  ["REDIS_URL", "redis://a:6379,b:6379,c:6379", "Cluster and Sentinel"],
  ["REDIS_URL", "redis://:p@a:26379,b:26379/0", "Cluster and Sentinel"],
  ["DATABASE_URL", "postgres://u:p@a:5432,b:5432/atelier", "names several servers"],
  ["DATABASE_URL", "postgresql://u:p@a,b/atelier?target_session_attrs=read-write", "names several servers"],
  ["REDIS_URL", "redis://host:6379/atelier", "a path that is no number"],
  ["REDIS_URL", "rediss://:p@host/1/2", "a path that is no number"],
  ["REDIS_URL", "redis+sentinel://a:26379/mymaster", "redis://host:6379"],
  ["DATABASE_URL", "postgres://me@db/x#y", "percent-encoded"],
  ["LLM_BASE_URL", "https://me:s3cr@gpu.lan/v1", "a key has its own setting"],
  ["S3_ENDPOINT", "https://id:s3cr@s3.example.org", "a key has its own setting"],
  ["FAL_BASE_URL", "https://gate.example.org/fal?key=s3cr", "without a query"],
  ["GOOGLE_BASE_URL", "https://gate.example.org/v1beta#models", "without a query"],
  ["TELEGRAM_API_ROOT", "https://gate.example.org?x=1", "without a query"],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "http://otel:4318/v1/traces?key=s3cr", "without a query"],
  ["APP_URL", "https://example.org/atelier", "without a path"],
  ["APP_URL", "https://example.org/atelier/", "without a path"],
  ["APP_URL", "https://example.org/?x=1", "without a path"],
  ["APP_URL", "https://example.org/#start", "without a path"],
  ["APP_URL", "https://me:s3cr@example.org", "no user name"],
  ["APP_URL", "ftp://example.org", "https://atelier.example.org"],
  ["APP_URL", "atelier.example.org", "https://atelier.example.org"],
  ["APP_URL", "localhost:3000", "https://atelier.example.org"],
  ["APP_URL", "https://", "https://atelier.example.org"],
  ["APP_URL", "/atelier", "https://atelier.example.org"],
])("A1 %s refuses %s", (name, value, text) => {
  expect(problemsOf(name, value)).toEqual([expect.stringContaining(text)]);
  expect(problemsOf(name, value).join("")).not.toMatch(secret);
});

test.each(["redis://host:6379/1", "rediss://:p@host:6379/0", "redis://host/", "redis://host:6379/15/"])(
  "A1 REDIS_URL %s has a database of Redis, or none",
  (value) => expect(problemsOf("REDIS_URL", value)).toEqual([]),
);

test.each([
  ["https://atelier.example.org/", "https://atelier.example.org"],
  [" HTTPS://Atelier.Example.ORG:443// ", "https://atelier.example.org"],
  ["http://10.0.0.5:8080", "http://10.0.0.5:8080"],
  ["http://[fd00::1]:3000/", "http://[fd00::1]:3000"],
  ["https://bücher.example", "https://xn--bcher-kva.example"],
])("A1 an APP_URL of %j is the origin %s", (written, origin) => {
  expect(inspectEnv({ APP_URL: written })).toMatchObject({ env: { APP_URL: origin }, problems: [] });
});

test.each([
  "http://otel:4318",
  "http://otel:4318/",
  "http://otel:4318/v1/traces",
  "http://otel:4318/v1/traces/",
])("A2 traces go to one address, however %s names it", (written) => {
  expect(inspectEnv({ OTEL_EXPORTER_OTLP_ENDPOINT: written })).toMatchObject({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: "http://otel:4318" },
    problems: [],
  });
});

test.each([
  ["http://home:11434/v1", "http://home:11434/v1"],
  ["http://home:11434/v1//", "http://home:11434/v1"],
  ["http://home:11434/v1/chat/completions", "http://home:11434/v1"],
  ["http://home:11434/", "http://home:11434"],
  ["https://gate.lan/v1/?token=a/b/", "https://gate.lan/v1?token=a/b/"],
  [
    "https://x.example/openai/deployments/p/images/generations?api-version=7",
    "https://x.example/openai/deployments/p?api-version=7",
  ],
])("A1 %s is the base %s of an API like that of OpenAI", (written, base) => {
  const source = { LLM_BASE_URL: written, OPENAI_IMAGES_BASE_URL: written };
  expect(inspectEnv(source)).toMatchObject({
    env: { LLM_BASE_URL: base, OPENAI_IMAGES_BASE_URL: base },
    problems: [],
  });
});

test.each([
  ["https://x.example/v1", "/images/edits", "https://x.example/v1/images/edits"],
  ["https://x.example", "/images/edits", "https://x.example/images/edits"],
  ["https://x.example/v1?a=1&b=%2F", "/images/edits", "https://x.example/v1/images/edits?a=1&b=%2F"],
])("A1 below %s, %s is %s", (base, path, address) => expect(addressBelow(base, path)).toBe(address));

test("A1 the models of Azure are listed above its deployments", () => {
  expect(modelsAddress("https://x.example/openai/deployments/p?api-version=7")).toBe(
    "https://x.example/openai/models?api-version=7",
  );
  expect(modelsAddress("https://x.example/v1")).toBe("https://x.example/v1/models");
});

test.each([
  ["https://x.example/v1", "key", { authorization: "Bearer key" }],
  ["https://x.example/v1?token=1", "key", { authorization: "Bearer key" }],
  ["https://x.example/openai/deployments/p?api-version=7", "key", { "api-key": "key" }],
  [
    "https://x.example/openai/v1?api-version=preview",
    "eyJ0.eyJh.c2ln",
    { authorization: "Bearer eyJ0.eyJh.c2ln" },
  ],
  ["https://x.example/v1", "", {}],
  ["https://x.example/v1", undefined, {}],
])("A1 at %s the key %s is sent as %j", (base, key, headers) =>
  expect(keyHeaders(base, key)).toEqual(headers),
);
