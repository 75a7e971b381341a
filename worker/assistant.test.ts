import { expect, test } from "vitest";
import { ask, readQuestion } from "@atelier/server/assistant";
import { resolveCaller } from "@atelier/server/accounts";
import { startLlm } from "@atelier/testing/llm";
import { startMailServer } from "@atelier/testing/deliveries";
import { createTestServices, openAccount, openAdmin } from "@atelier/testing/services";
import { startTestWorker } from "@atelier/testing/worker";

test(
  "B1 B2 B6 a question goes through its stages to a streamed answer",
  { timeout: 60_000 },
  async ({ onTestFinished }) => {
    const llm = await startLlm();
    onTestFinished(() => llm.close());
    const fixture = await createTestServices({ env: llm.env });
    const { services } = fixture;
    onTestFinished(() => fixture.close());
    const account = await openAccount(services, "a@example.org");
    const caller = await resolveCaller(services, account.headers);
    const worker = await startTestWorker(services);
    onTestFinished(() => worker.kill9());
    const ownerId = caller?.userId ?? "";
    const { runId } = await ask(services, { ownerId, text: "What do I like?" });
    await expect
      .poll(async () => (await readQuestion(services, { ownerId, id: runId })).status, { timeout: 20_000 })
      .toBe("completed");
    const run = await readQuestion(services, { ownerId, id: runId });
    expect(run).toMatchObject({
      answer: expect.stringContaining("What do I like?"),
      error: null,
      attempt: 3,
    });
    const story = await services.db.execute<{ status: string }>(
      "select status from assistant_run_events order by revision",
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
  },
);

test(
  "B6 a stopped answer whose worker was lost keeps its words, one without any is empty",
  { timeout: 60_000 },
  async ({ onTestFinished }) => {
    const llm = await startLlm();
    onTestFinished(() => llm.close());
    const fixture = await createTestServices({ env: llm.env });
    const { services } = fixture;
    onTestFinished(() => fixture.close());
    const account = await openAccount(services, "a@example.org");
    const ownerId = (await resolveCaller(services, account.headers))?.userId ?? "";
    const answers = ["Linen, and", ""];
    const ids: string[] = [];
    for (const answer of answers) {
      const { runId } = await ask(services, { ownerId, text: "What do I like?" });
      // As the sweep gives a stage back whose worker died after the stop.
      await services.db.execute(
        `update assistant_runs set status = 'ready', revision = revision + 1, answer = '${answer}', stop_requested_at = now() where id = '${runId}'`,
      );
      ids.push(runId);
    }
    const worker = await startTestWorker(services);
    onTestFinished(() => worker.kill9());
    for (const [at, id] of ids.entries()) {
      const read = () => readQuestion(services, { ownerId, id });
      await expect.poll(async () => (await read()).status, { timeout: 20_000 }).toBe("completed");
      expect(await read()).toMatchObject({ answer: answers[at], error: null });
    }
    const logged = await services.db.execute("select text from assistant_messages where role = 'assistant'");
    expect(logged).toEqual([{ text: "Linen, and" }]);
  },
);

test(
  "B9 S9 a fault of the studio fails the question, stands in the log with its stack, and is told to the admins once",
  { timeout: 60_000 },
  async ({ onTestFinished }) => {
    const [llm, mail] = await Promise.all([startLlm(), startMailServer()]);
    onTestFinished(() => llm.close());
    onTestFinished(() => mail.close());
    const fixture = await createTestServices({
      env: { ...llm.env, SMTP_URL: mail.url, SMTP_FROM: "atelier@example.org" },
    });
    const { services } = fixture;
    onTestFinished(() => fixture.close());
    await openAdmin(services, "admin@example.org");
    const account = await openAccount(services, "a@example.org");
    const ownerId = (await resolveCaller(services, account.headers))?.userId ?? "";
    const ids: string[] = [];
    for (const text of ["A canary in the question", "Another one"]) {
      const { runId } = await ask(services, { ownerId, text });
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
        .poll(async () => await readQuestion(services, { ownerId, id }), { timeout: 20_000 })
        .toMatchObject({ status: "failed", error: { code: "internal" } });
    await expect.poll(() => mail.received.length, { timeout: 20_000 }).toBe(1);
    const logs = workers.map((worker) => worker.output()).join("");
    expect(logs).toMatch(/the responder failed/);
    expect(logs).toMatch(/"stack":"[^"]*respond/);
    expect(mail.received[0]?.raw).not.toContain("canary");
  },
);
