import { afterAll, beforeAll, expect, test } from "vitest";
import { ask, readClientQuestion } from "@atelier/server/assistant";
import { resolveCaller } from "@atelier/server/accounts";
import { startLlm } from "@atelier/testing/llm";
import { startMailServer } from "@atelier/testing/deliveries";
import { createTestServices, openAccount, openAdmin, type TestServices } from "@atelier/testing/services";
import { startTestWorker, type TestWorker } from "@atelier/testing/worker";

let llm: Awaited<ReturnType<typeof startLlm>>;
let fixture: TestServices;
let worker: TestWorker | undefined;
let ownerId = "";

/** What the answers had so far when they were stopped, by the id of their question. */
const stopped = new Map<string, string>();

// One studio and one worker for what needs no others. The first start of a run bundles the programs first.
beforeAll(async () => {
  llm = await startLlm();
  fixture = await createTestServices({ env: llm.env });
  const { services } = fixture;
  const account = await openAccount(services, "a@example.org");
  ownerId = (await resolveCaller(services, account.headers))?.userId ?? "";
  for (const answer of ["Linen, and", ""]) {
    const { runId } = await ask(services, { ownerId, text: "What do I wear?" });
    // As the sweep gives a stage back whose worker died after the stop.
    await services.db.execute(
      `update assistant_runs set status = 'ready', revision = revision + 1, answer = '${answer}', stop_requested_at = now() where id = '${runId}'`,
    );
    stopped.set(runId, answer);
  }
  worker = await startTestWorker(services);
});
afterAll(async () => {
  await worker?.kill9();
  await fixture.close();
  await llm.close();
});

const read = (id: string) => readClientQuestion(fixture.services, { userId: ownerId, isAdmin: false }, id);
const untilCompleted = (id: string) => expect.poll(async () => (await read(id)).status).toBe("completed");

test("B6 a stopped answer whose worker was lost keeps its words, one without any is empty", async () => {
  for (const [id, answer] of stopped) {
    await untilCompleted(id);
    expect(await read(id)).toMatchObject({ answer, error: null });
  }
  const logged = await fixture.services.db.execute(
    "select text from assistant_messages where role = 'assistant' and text not like '%What do I like?%'",
  );
  expect(logged).toEqual([{ text: "Linen, and" }]);
});

test("B1 B2 B6 a question goes through its stages to a streamed answer", async () => {
  const { services } = fixture;
  const { runId } = await ask(services, { ownerId, text: "What do I like?" });
  await untilCompleted(runId);
  expect(await read(runId)).toMatchObject({
    answer: expect.stringContaining("What do I like?"),
    error: null,
    attempt: 3,
  });
  const story = await services.db.execute<{ status: string }>(
    `select status from assistant_run_events where run_id = '${runId}' order by revision`,
  );
  expect(story.map(({ status }) => status)).toEqual([
    "new",
    "analyzing",
    "analyzed",
    "assembling",
    "ready",
    "responding",
    "completed",
  ]);
});

test("B9 S9 a fault of the studio fails the question, stands in the log with its stack, and is told to the admins once", async ({
  onTestFinished,
}) => {
  const mail = await startMailServer();
  onTestFinished(() => mail.close());
  const told = await createTestServices({
    env: { ...llm.env, SMTP_URL: mail.url, SMTP_FROM: "atelier@example.org" },
  });
  const { services } = told;
  onTestFinished(() => told.close());
  await openAdmin(services, "admin@example.org");
  const account = await openAccount(services, "a@example.org");
  const askerId = (await resolveCaller(services, account.headers))?.userId ?? "";
  const ids: string[] = [];
  for (const text of ["A canary in the question", "Another one"]) {
    const { runId } = await ask(services, { ownerId: askerId, text });
    // What no assembler writes.
    await services.db.execute(
      `update assistant_runs set status = 'ready', revision = revision + 1, context = '{"used":[]}' where id = '${runId}'`,
    );
    ids.push(runId);
  }
  const workers = await Promise.all(["one", "two"].map((name) => startTestWorker(services, { name })));
  onTestFinished(async () => {
    for (const worker of workers) await worker.kill9();
  });
  for (const id of ids)
    await expect
      .poll(async () => await readClientQuestion(services, { userId: askerId, isAdmin: false }, id))
      .toMatchObject({ status: "failed", error: { code: "internal" } });
  await expect.poll(() => mail.received.length).toBe(1);
  const logs = workers.map((worker) => worker.output()).join("");
  expect(logs).toMatch(/the responder failed/);
  expect(logs).toMatch(/"stack":"[^"]*respond/);
  expect(mail.received[0]?.raw).not.toContain("canary");
});
