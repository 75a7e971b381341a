import { execFile } from "node:child_process";
import { schema } from "@atelier/server/db";
import { addJob, addOwner, insertJob } from "@atelier/testing/jobs";
import { findProgram, killAtExit, runNode } from "@atelier/testing/processes";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { processEnv } from "@atelier/testing/worker";
import { afterAll, beforeAll, expect, test } from "vitest";
import { inAll } from "@atelier/testing/cases";

let fixture: TestServices;

beforeAll(async () => {
  fixture = await createTestServices();
});
afterAll(() => fixture.close());

async function atelier(...args: string[]): Promise<{ code: number; out: string; said: string }> {
  const command = [...(await findProgram("cli/main.ts")), ...args];
  return new Promise((resolve) => {
    execFile(process.execPath, command, { env: processEnv(fixture.services) }, (error, out, said) =>
      resolve({ code: typeof error?.code === "number" ? error.code : 0, out, said }),
    );
  });
}

test("D12 a worker's lines are printed by the job's id and by the name of its node", async () => {
  const { services } = fixture;
  const owner = await addOwner(services);
  const id = await addJob(services, { owner });
  const worker = runNode([...(await findProgram("worker/main.ts")), "--once"], {
    ...processEnv(services),
    LOG_LEVEL: "info",
    WORKER_NAME: "machine",
  });
  killAtExit(worker.child);
  expect([await worker.ended, worker.output()]).toEqual([0, expect.stringContaining("run ended")]);

  const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;
  const ended = String.raw`kind=upscale attempt=1 outcome=completed durationMs=\d+`;
  const ofJob = await atelier("logs", "--job", id);
  expect(ofJob).toMatchObject({ code: 0, said: "" });
  expect(ofJob.out).toMatch(new RegExp(`^${time} info  machine-once run ended ${ended}\n$`));
  const ofNode = await atelier("logs", "--node", "machine-once");
  expect(ofNode).toMatchObject({ code: 0, said: "" });
  expect(ofNode.out).toMatch(new RegExp(`^${time} info  machine-once run ended job=${id} ${ended}\n$`));
});

test("D12 an error is printed with its causes on one line, and steers no terminal", async () => {
  const { services } = fixture;
  const id = await insertJob(services, { owner: await addOwner(services) });
  await services.db.insert(schema.jobLogs).values({
    jobId: id,
    number: 1,
    level: "warn",
    process: "worker",
    message: "run failed",
    data: {
      err: { type: "AppError", message: "red \u001b[31m", cause: { type: "Error", message: "two\nlines" } },
      code: "internal",
    },
    createdAt: new Date("2026-01-02T03:04:05.678Z"),
  });
  expect((await atelier("logs", "--job", id)).out).toBe(
    String.raw`2026-01-02T03:04:05.678Z warn  worker run failed code=internal err="AppError: red \u001b[31m, caused by Error: two\nlines"` +
      "\n",
  );
});

test("D12 what cannot be printed is said in one line", inAll, async () => {
  const { services } = fixture;
  const quiet = await insertJob(services, { owner: await addOwner(services) });
  const unknown = "01234567-89ab-7def-8123-456789abcdef";
  const runs = await Promise.all([
    atelier("logs", "--job", quiet),
    atelier("logs", "--job", unknown),
    atelier("logs", "--node", "nobody"),
    atelier("logs"),
    atelier("logs", "--job", unknown, "--node", "nobody"),
  ]);
  expect(runs.map(({ code, out }) => [code, out])).toEqual([0, 1, 1, 1, 1].map((code) => [code, ""]));
  expect(runs.map(({ said }) => said.split("\n")[0])).toEqual([
    "No log lines are stored.",
    `There is no job ${unknown}.`,
    'There is no node "nobody".',
    "Name a job or a node.",
    "Name a job or a node.",
  ]);
});
