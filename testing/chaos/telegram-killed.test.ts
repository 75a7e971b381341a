// @module-tag all
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Services } from "@atelier/server/services";
import { realTimeMs } from "../cases/index.ts";
import { createTestServices, type TestServices } from "../services/index.ts";
import { type BotApi, linkOwner, readHolder, startBotApi, until } from "../telegram/index.ts";
import { startTestWorker } from "../worker/index.ts";

let api: BotApi;
let opened: TestServices;
let services: Services;
beforeAll(async () => {
  api = await startBotApi();
  opened = await createTestServices({ env: api.env });
  ({ services } = opened);
});
afterAll(async () => {
  await opened.close();
  await api.close();
});

test(
  "C4 a worker that is killed while it reads the bot's updates is replaced by another one",
  { timeout: realTimeMs },
  async () => {
    const first = await startTestWorker(services, { name: "first" });
    const holder = await until("the lease", () => readHolder(services));
    const second = await startTestWorker(services, { name: "second" });
    const person = api.person();
    await linkOwner(services, person);
    person.say("/status");
    await until("the answer of the first", () => person.messages[0]);
    // A worker that dies between an answer and its record leaves the update to the next one, which answers again.
    await until("its record", async () => {
      const rows = await services.db.execute("select from telegram_updates where done_at is null");
      return rows.length === 0;
    });
    await first.kill9();
    person.say("/status");
    await until("the answer of the second", () => person.messages[1]);
    expect(await readHolder(services)).not.toBe(holder);
    expect(person.messages).toHaveLength(2);
    expect(first.output() + second.output()).not.toContain("simulated-token-canary");
    await second.term();
  },
);
