import { type AddressInfo, createConnection, createServer } from "node:net";
import { checkRedis } from "../../server/doctor/redis.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { startRedis } from "./index.ts";
import { captureLog } from "../services/index.ts";
import { expect, onTestFinished, test, vi } from "vitest";
import { findFreePort } from "../../scripts/process/tools.ts";
import { logConnectionErrors } from "@atelier/server/platform";
import { retellFinding, wordsIn } from "../../server/words.ts";
import { createBells, createHints, findUnusableRedis, sentenceOfRefusal } from "@atelier/server/queue";

async function start(args: readonly string[]) {
  // Redis itself chooses one for a cluster's own traffic that an outgoing connection may have.
  const own = args.includes("--cluster-enabled") ? ["--cluster-port", String(await findFreePort())] : [];
  const redis = await startRedis([...args, ...own]);
  onTestFinished(() => redis.destroy());
  return redis;
}

test.each([
  { what: "a Cluster", args: ["--cluster-enabled", "yes"], word: "CLUSTERDOWN", text: "is a Cluster" },
  { what: "a replica", args: ["--replicaof", "127.0.0.1", "1"], word: "READONLY", text: "read-only replica" },
  { what: "full memory", args: ["--maxmemory", "1"], word: "OOM", text: "raise its maxmemory" },
  { what: "a password", args: ["--requirepass", "secret"], word: "NOAUTH", text: "wants a password" },
  {
    what: "another password",
    args: ["--requirepass", "secret"],
    user: ":wrong@",
    word: "WRONGPASS",
    text: "refuses",
  },
])(
  "F15 A3 Redis with $what is asked with pauses, and named by one sentence",
  async ({ args, user = "", word, text }) => {
    const redis = await start(args);
    const url = redis.url.replace("//", `//${user}`);
    const { log, lines } = captureLog();
    const said = logConnectionErrors(log, sentenceOfRefusal);
    let errors = 0;
    const fromMs = performance.now();
    const onError = (error: Error) => {
      errors += 1;
      said(error);
    };
    const bells = createBells({ backend: "redis", url }, { onError });
    const hints = createHints({ backend: "redis", url }, { onError, later: () => undefined });
    hints.subscribe(() => undefined);
    const consumer = bells.consume("cpu-light", 2, async () => undefined);
    await vi.waitFor(() => expect(lines.join("\n")).toContain(`(${word}).`), { timeout: 5_000 });
    // The time in which a worker without a pause would ask ten thousand times.
    await sleep(1_000);
    expect(errors / ((performance.now() - fromMs) / 1_000)).toBeLessThan(60);
    const ofWord = lines.filter((line) => line.includes(`(${word}).`));
    expect(ofWord).toHaveLength(1);
    expect(ofWord[0]).toContain(text);
    expect(lines.join("\n")).not.toContain("wrong@");
    await Promise.all([consumer.close(), bells.close(), hints.close()]);
  },
);

test.each([
  ["the commands", "+@read +ping ~atelier:* &atelier:*"],
  ["the keys", "+@all &atelier:*"],
  ["the channels, which Redis 7 gives to no user by itself", "+@all ~atelier:*"],
])(
  "F15 A3 a user of Redis without %s is named with what to give it, and works with that",
  async (_, rights) => {
    const redis = await start([]);
    await redis.send(`ACL SETUSER studio on >secret resetkeys resetchannels ${rights}`);
    const url = redis.url.replace("//", "//studio:secret@");
    const errors: Error[] = [];
    const open = () => {
      const hints = createHints(
        { backend: "redis", url },
        { onError: (error) => errors.push(error), later: () => undefined },
      );
      const bells = createBells({ backend: "redis", url }, { onError: (error) => errors.push(error) });
      onTestFinished(async () => {
        await Promise.all([hints.close(), bells.close()]);
      });
      return { hints, bells };
    };
    const before = open();
    before.hints.subscribe(() => undefined);
    before.hints.publish({ type: "server", url: "http://one" });
    await before.bells
      .ring("cpu-light", [{ jobId: "a", attempt: 0, ring: 1 }])
      .catch((error: Error) => errors.push(error));
    await vi.waitFor(() => expect(errors.map(sentenceOfRefusal).join()).toContain("(NOPERM)"));
    const said = errors.map(sentenceOfRefusal).find((text) => text?.includes("(NOPERM)")) ?? "";
    expect(await checkRedis(url)).toMatchObject({ isOk: false, message: expect.stringContaining("NOPERM") });
    const [, wanted = ""] = /give it (.*?),/.exec(said) ?? [];
    await redis.send(`ACL SETUSER studio ${wanted}`);
    expect(await checkRedis(url)).toMatchObject({ isOk: true });
    const after = open();
    let heard = 0;
    after.hints.subscribe(() => (heard += 1));
    await after.bells.ring("cpu-light", [{ jobId: "b", attempt: 0, ring: 1 }]);
    await expect
      .poll(() => {
        after.hints.publish({ type: "server", url: "http://one" });
        return heard;
      })
      .toBeGreaterThan(0);
  },
);

test("F15 A3 a replica that becomes the primary is used again", async () => {
  const redis = await start(["--replicaof", "127.0.0.1", "1"]);
  const bells = createBells({ backend: "redis", url: redis.url }, { onError: () => undefined });
  const heard: string[] = [];
  const consumer = bells.consume("cpu-light", 1, async ({ jobId }) => void heard.push(jobId));
  await expect(bells.ring("cpu-light", [{ jobId: "a", attempt: 1, ring: 1 }])).rejects.toThrow("READONLY");
  await redis.send("REPLICAOF NO ONE");
  await bells.ring("cpu-light", [{ jobId: "b", attempt: 1, ring: 2 }]);
  await vi.waitFor(() => expect(heard).toEqual(["b"]), { timeout: 10_000 });
  await Promise.all([consumer.close(), bells.close()]);
});

/** A way to a Redis on which scripts may touch no key but those that they are given, as on Dragonfly. */
async function withoutUndeclaredKeys(url: string): Promise<string> {
  const { port } = new URL(url);
  const refusal =
    "-ERR Error running script (call to 9b1e): @user_script:1: script tried accessing undeclared key, key: atelier:one\r\n";
  const server = createServer((socket) => {
    const redis = createConnection(Number(port), "127.0.0.1");
    socket.on("data", (data) => {
      if (/\r\n(?:eval|evalsha)\r\n/i.test(data.toString("latin1"))) socket.write(refusal);
      else redis.write(data);
    });
    redis.pipe(socket);
    for (const end of [socket, redis]) end.on("error", () => undefined);
    socket.on("close", () => redis.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("F15 A3 a server whose scripts may touch no key of their own is told from one that works", async () => {
  const redis = await start([]);
  const url = await withoutUndeclaredKeys(redis.url);
  const message = expect.stringContaining("allow-undeclared-keys");
  expect(await checkRedis(url)).toMatchObject({ isOk: false, message });
  expect(await checkRedis(redis.url)).toMatchObject({ isOk: true });
  const refused = new Error("ERR script tried accessing undeclared key, key: bull:q:meta");
  expect(sentenceOfRefusal(refused)).toEqual(message);
});

test("F15 A3 a refusal within a script is named as any other, also where an older Redis wraps it", () => {
  const script = "f_8a1b: @user_script:39: @user_script: 39";
  const wrapped = `ERR Error running script (call to ${script}: -READONLY You can't write against a read only replica.`;
  expect(sentenceOfRefusal(new Error(wrapped))).toContain("read-only replica");
  expect(sentenceOfRefusal(new Error("ERR unknown command"))).toBeNull();
  for (const spent of [
    "ERR max daily request limit exceeded. Limit: 10000, Usage: 10000. See https://upstash.com/docs for details",
    "ERR max requests limit exceeded. Limit: 500000, Usage: 500000.",
  ])
    expect(sentenceOfRefusal(new Error(spent))).toBe(
      "The plan of this Redis has no requests left for this day or month: take a larger plan, or a Redis that counts none (ERR).",
    );
});

/** A server that answers every command with this description of itself. */
async function describes(info: string): Promise<string> {
  const answer = `$${info.length}\r\n${info}\r\n`;
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (data) => socket.write(answer.repeat(String(data).split(/^\*\d+\r\n/m).length - 1)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `redis://127.0.0.1:${Object(server.address()).port}`;
}

test("F15 A3 a database that Redis does not have is refused, since the client would go on in the first one", async () => {
  const redis = await start(["--databases", "2"]);
  const [there, missing] = [`${redis.url}/1`, `${redis.url}/2`];
  expect(await findUnusableRedis(there)).toBeNull();
  expect(await checkRedis(there)).toMatchObject({ isOk: true });
  const why = expect.stringContaining("no database of this number");
  expect(await findUnusableRedis(missing)).toEqual(why);
  expect(await checkRedis(missing)).toMatchObject({ isOk: false, message: why });
  const told = sentenceOfRefusal(new Error("ERR DB index is out of range"));
  expect(told).toContain("no database of the number in REDIS_URL");
});

test.each([
  ["may not wait for a bell", "+@all -@blocking ~atelier:* &atelier:*", /NOPERM.*bzpopmin/],
  ["may not ask which Redis it is", "+@all -info ~atelier:* &atelier:*", /NOPERM.*info/],
])("F15 A3 a user of Redis that %s is named by the doctor", async (_, rights, words) => {
  const redis = await start([]);
  await redis.send(`ACL SETUSER studio on >p%40 resetkeys resetchannels ${rights}`);
  const found = await checkRedis(redis.url.replace("//", "//studio:p%2540@"));
  expect(found).toMatchObject({ isOk: false, message: expect.stringMatching(words) });
});

test("F15 A3 a command that the operator has taken away is named", async () => {
  const redis = await start(["--rename-command", "INFO", ""]);
  const found = await checkRedis(redis.url);
  expect(found).toMatchObject({ isOk: false, message: expect.stringContaining("rename-command") });
  expect(retellFinding(found.message, await wordsIn("de"))).toMatch(
    /^hat einen Befehl nicht.*\(ERR unknown command 'info'\)/,
  );
  const errors: Error[] = [];
  const bells = createBells({ backend: "redis", url: redis.url }, { onError: (error) => errors.push(error) });
  await bells.ring("cpu-light", [{ jobId: "a", attempt: 0, ring: 1 }]).catch(() => undefined);
  await vi.waitFor(() => expect(errors.map(sentenceOfRefusal).join()).toContain("rename-command"));
  await bells.close();
});

test("A16 studios with a number of their own at one Redis do not hear each other", async () => {
  const redis = await start([]);
  const open = (number: string) => {
    const hints = createHints(
      { backend: "redis", url: redis.url + number },
      { onError: () => undefined, later: () => undefined },
    );
    onTestFinished(() => hints.close());
    const heard: string[] = [];
    hints.subscribe((message) => message.type === "stop" && heard.push(message.runId));
    return { hints, heard };
  };
  const studios = ["", "/1", "/2"].map(open);
  await vi.waitFor(() => {
    for (const [at, { hints }] of studios.entries()) hints.publish({ type: "stop", runId: String(at) });
    expect(studios.map(({ heard }) => heard.length > 0)).toEqual([true, true, true]);
  });
  expect(studios.map(({ heard }) => [...new Set(heard)])).toEqual([["0"], ["1"], ["2"]]);
});

test("F15 A3 what can never be used is refused at the start, and nothing else", async () => {
  const cluster = await start(["--cluster-enabled", "yes"]);
  const guarded = await start(["--requirepass", "secret"]);
  const plain = await start([]);
  expect(await findUnusableRedis(cluster.url)).toContain("Redis Cluster, which is not supported");
  for (const url of [plain.url, guarded.url, "redis://127.0.0.1:1"])
    expect(await findUnusableRedis(url)).toBeNull();
  const told = async (info: string) => findUnusableRedis(await describes(info));
  expect(await told("redis_version:7.0.15\r\nredis_mode:sentinel\r\n")).toContain("is a Sentinel");
  expect(await told("redis_version:6.0.16\r\nredis_mode:standalone\r\n")).toContain("version 6.2 or newer");
  expect(await told("redis_version:6.2.0\r\nredis_mode:standalone\r\n")).toBeNull();
  expect(await told("redis_version:8.0.1\r\nredis_mode:standalone\r\n")).toBeNull();
});

test("F15 A3 an error that repeats is logged with pauses that grow, and says how many were left out", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { log, lines } = captureLog();
  const said = logConnectionErrors(log);
  const error = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  for (let second = 0; second < 3_600; second += 1) {
    said(error);
    vi.advanceTimersByTime(1_000);
  }
  expect(lines.length).toBeLessThanOrEqual(12);
  expect(lines[1]).toContain('"leftOut":9');
  said(Object.assign(new Error("other"), { code: "EPIPE" }));
  expect(lines.at(-1)).toContain("EPIPE");
});
