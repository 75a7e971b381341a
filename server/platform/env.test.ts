import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { envNames, inspectEnv, parseEnv } from "./env.ts";

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

test("A14 S1 a worker's token that no header could bear is refused", () => {
  const problemsOf = (token: string) =>
    inspectEnv({ WORKER_HTTP_TOKEN: token }).problems.map(({ message }) => message);
  expect(problemsOf("a-token-of-the-worker")).toEqual([]);
  for (const token of ["a token of the worker", "a-token-of-the-worker\n", "a-töken-of-the-worker"])
    expect(problemsOf(token)).toEqual([expect.stringContaining("without blanks")]);
});

test("A2 what is valid is kept beside what is wrong, and blank counts as unset", () => {
  const { env, problems } = inspectEnv({ PORT: "99999", HOST: " ", ATELIER_DATA_DIR: "/srv/atelier" });
  expect(problems.map(({ name }) => name)).toEqual(["PORT"]);
  expect(env).toMatchObject({ PORT: 3000, HOST: "127.0.0.1", ATELIER_DATA_DIR: "/srv/atelier" });
  expect(parseEnv({ PORT: "99999" }).env).toBeNull();
});
