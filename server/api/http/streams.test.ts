import { once } from "node:events";
import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { boundStream, saysNothingOfCaller } from "../../live/index.ts";
import { AppError } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { isStillCaller, servedStream } from "./streams.ts";

let opened: TestServices;
beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());

describe("bound stream", () => {
  /** Endless numbers that say when they were closed. */
  function openNumbers() {
    const state = { isClosed: false };
    async function* numbers() {
      try {
        for (let value = 0; ; value += 1) yield value;
      } finally {
        state.isClosed = true;
      }
    }
    return { state, numbers: numbers() };
  }

  test("S1 a stream ends once its caller may not read on, and closes its source", async () => {
    const { state, numbers } = openNumbers();
    const answers = [true, true, false];
    const isAllowed = async () => answers.shift() ?? false;
    const seen = await Array.fromAsync(
      boundStream(numbers, { isAllowed, recheckMs: 0, lengthMs: Number.POSITIVE_INFINITY }),
    );
    expect(seen).toEqual([0, 1]);
    expect(state.isClosed).toBe(true);
  });

  test("a look that tells nothing of the caller ends no stream: at a limit of requests, and while the database is away", async () => {
    const away = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    const wrapped = new Error("session not read", { cause: away });
    for (const thrown of [
      away,
      wrapped,
      new AppError("rate_limited"),
      new AppError("database_unavailable"),
    ]) {
      const db = new Proxy({} as Services["db"], {
        get: () => () => {
          throw thrown;
        },
      });
      const headers = new Headers({ authorization: "Bearer atl_something" });
      expect(await isStillCaller({ ...opened.services, db }, headers)).toBe(true);
    }
    expect(saysNothingOfCaller(new AppError("unauthorized"))).toBe(false);
    expect(saysNothingOfCaller(new Error("no such column"))).toBe(false);
  });

  test("a stream ends when its time is over", async () => {
    const { state, numbers } = openNumbers();
    const isAllowed = async () => true;
    expect(await Array.fromAsync(boundStream(numbers, { isAllowed, recheckMs: 0, lengthMs: 0 }))).toEqual([]);
    expect(state.isClosed).toBe(true);
  });
});

describe("streams", () => {
  function serve(source: Readable) {
    let served = 0;
    const body = servedStream({ later: () => undefined }, source, async () => {
      served += 1;
    });
    return { body, served: () => served };
  }

  /** Long enough for anything that reads ahead of its reader to have done so. */
  async function settle(): Promise<void> {
    for (let turn = 0; turn < 50; turn += 1) await setImmediate();
  }

  test("A8 an answer counts as served when its reader asks for more after the last byte, not before", async () => {
    const { body, served } = serve(Readable.from([Buffer.from("small")]));
    const reader = body.getReader();
    await settle();
    expect(served()).toBe(0);
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe("small");
    await settle();
    expect(served()).toBe(0);
    expect((await reader.read()).done).toBe(true);
    expect(served()).toBe(1);
  });

  test("A8 an answer whose reader leaves is not served, and its source is closed", async () => {
    const source = createReadStream(import.meta.filename, { highWaterMark: 64 });
    const { body, served } = serve(source);
    const reader = body.getReader();
    await reader.read();
    const closed = once(source, "close");
    await reader.cancel();
    await closed;
    await settle();
    expect(served()).toBe(0);
  });

  test("an answer that nobody reads closes its source when it is cancelled", async () => {
    const source = createReadStream(import.meta.filename);
    const { body, served } = serve(source);
    await body.cancel();
    expect([source.destroyed, served()]).toEqual([true, 0]);
  });

  test("a source that fails, before or while it is read, fails its reader and is not served", async () => {
    const { body, served } = serve(createReadStream(`${import.meta.filename}.absent`));
    await settle();
    await expect(body.getReader().read()).rejects.toMatchObject({ code: "ENOENT" });
    expect(served()).toBe(0);
  });
});
