import { expect, test } from "vitest";
import { ask, readRun } from "@atelier/server/assistant";
import { resolveCaller } from "@atelier/server/accounts";
import { startLlm } from "@atelier/testing/llm";
import { createTestServices, openAccount } from "@atelier/testing/services";
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
      .poll(async () => (await readRun(services, { ownerId, id: runId })).status, { timeout: 20_000 })
      .toBe("completed");
    const run = await readRun(services, { ownerId, id: runId });
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
