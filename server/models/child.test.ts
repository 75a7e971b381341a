import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Db } from "../db/index.ts";
import { closeKept } from "../platform/index.ts";
import { createModelChild } from "./child.ts";

let folder: string;
let db: Db;
let ask: (task: string, signal?: AbortSignal) => Promise<number>;

/** Each child gives its own number; `hang`, `fail` and `end` do what they say once \`go\` is there, and the others wait for that, too. */
const script = `
import { access, readdir, writeFile } from "node:fs/promises";
import { answerOrders } from ${JSON.stringify(path.join(import.meta.dirname, "answer-orders.ts"))};
answerOrders(async (folder) => {
  const number = (await readdir(folder)).filter((name) => name.startsWith("child")).length;
  await writeFile(folder + "/child" + number, String(process.pid));
  return async (task) => {
    await writeFile(folder + "/" + task, "");
    const [what, go] = task.split(" ");
    while (go && !(await access(folder + "/" + go).then(() => true, () => false)))
      await new Promise((resolve) => setTimeout(resolve, 5));
    if (what === "hang") for (;;);
    if (what === "end") process.exit(1);
    if (what === "fail") throw new Error("the task");
    return number;
  };
});
`;

beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "atelier-model-"));
  const file = path.join(folder, "script.mts");
  await writeFile(file, script);
  const askModel = createModelChild<string, number>({ title: "test model", script: file, mostOpen: 5 });
  db = {} as Db;
  ask = (task, signal = AbortSignal.timeout(60_000)) => askModel(db, { file: folder, task, signal });
});
afterEach(async () => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  await closeKept(db);
  await rm(folder, { recursive: true, force: true });
});

/** Once the children have begun these tasks, what they wait for comes. */
async function goOn(go: string, ...tasks: string[]): Promise<void> {
  for (const task of tasks) await vi.waitFor(() => readFile(path.join(folder, task)), { timeout: 30_000 });
  await writeFile(path.join(folder, go), "");
}

test("a task that fails leaves the others of its child alone, and the next order gets another child", async () => {
  const [bad, good] = [ask("fail go"), ask("good later")];
  bad.catch(() => undefined);
  await goOn("go", "fail go", "good later");
  await expect(bad).rejects.toThrow("the task");
  await goOn("later");
  expect(await good).toBe(0);
  expect(await ask("next")).toBe(1);
});

test("where a child ends under several orders, those that did not end it are answered by another one", async () => {
  const [bad, ...others] = ["end go", "one later", "two later"].map((task) => ask(task));
  bad?.catch(() => undefined);
  await goOn("go", "end go", "one later", "two later");
  await expect(bad).rejects.toThrow("ended");
  await goOn("later");
  expect(await Promise.all(others)).toEqual([2, 2]);
});

test("an order that waits for another child is left at once by an abort, with its reason", async () => {
  const stop = new AbortController();
  const orders = ["end go", "long never", "last never"].map((task) =>
    ask(task, stop.signal).catch((error: unknown) => error),
  );
  await goOn("go", "end go", "long never", "last never");
  await rm(path.join(folder, "long never"));
  await goOn("again", "long never");
  const reason = new Error("cancelled");
  stop.abort(reason);
  expect((await Promise.all(orders)).slice(1)).toEqual([reason, reason]);
});

test("a child that hangs is replaced once an order has waited long for it, and one that is slow is not", async () => {
  const stop = new AbortController();
  const slow = ask("slow never", stop.signal);
  slow.catch(() => undefined);
  await goOn("again", "slow never");
  stop.abort(new Error("given up"));
  await expect(slow).rejects.toThrow("given up");
  expect(await ask("next")).toBe(0);
  for (const number of [1, 2]) {
    const limits = Array.from({ length: 4 }, () => new AbortController());
    const hanging = limits.map(({ signal }, at) => ask(at === 0 ? "hang" : "behind never", signal));
    for (const one of hanging) one.catch(() => undefined);
    await goOn("again", "hang");
    await rm(path.join(folder, "hang"));
    const now = performance.now() + 31_000;
    vi.spyOn(performance, "now").mockReturnValue(now);
    for (const limit of limits) limit.abort(new Error("its limit"));
    for (const one of hanging) await expect(one).rejects.toThrow("its limit");
    vi.restoreAllMocks();
    expect(await ask("next")).toBe(number);
  }
});

test("a child that hangs is replaced, too, where all that it may be asked was given up soon", async () => {
  const orders = Array.from({ length: 5 }, () => new AbortController());
  const hanging = orders.map(({ signal }, at) => ask(at === 0 ? "hang" : "behind", signal));
  for (const one of hanging) one.catch(() => undefined);
  await goOn("again", "hang");
  for (const order of orders) order.abort(new Error("its limit"));
  for (const one of hanging) await expect(one).rejects.toThrow("its limit");
  await expect(ask("refused")).rejects.toThrow("too many");
  await expect(ask("soon")).rejects.toThrow("too many");
  vi.spyOn(performance, "now").mockReturnValue(performance.now() + 31_000);
  await expect(ask("later")).rejects.toThrow("too many");
  expect(await ask("next")).toBe(1);
});

test("a child that has just answered another order is kept, however old the one is that is given up", async () => {
  const stop = new AbortController();
  const old = ask("old never", stop.signal);
  old.catch(() => undefined);
  await goOn("again", "old never");
  const now = performance.now() + 31_000;
  vi.spyOn(performance, "now").mockReturnValue(now);
  expect(await ask("other")).toBe(0);
  stop.abort(new Error("given up"));
  await expect(old).rejects.toThrow("given up");
  expect(await ask("next")).toBe(0);
});

test("an order at the moment at which an idle child is ended gets another one", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  expect(await ask("first")).toBe(0);
  await vi.advanceTimersByTimeAsync(10 * 60_000);
  expect(await ask("next")).toBe(1);
});

test("nothing is asked again once the child was closed under its order", async () => {
  const order = ask("slow never");
  order.catch(() => undefined);
  await goOn("again", "slow never");
  await closeKept(db);
  await expect(order).rejects.toThrow("closed");
});
