import { randomUUID } from "node:crypto";
import path from "node:path";
import { inAll } from "@atelier/testing/cases";
import { runNode } from "@atelier/testing/processes";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { processEnv } from "@atelier/testing/worker";
import { afterAll, beforeAll, expect, test } from "vitest";

let fixture: TestServices;
beforeAll(async () => {
  fixture = await createTestServices();
});
afterAll(() => fixture.close());

const script = (name: string) => path.join(import.meta.dirname, name);

test("print-hints shows what processes tell each other, and how large a preview is", async () => {
  const { services } = fixture;
  const run = runNode([script("print-hints.ts")], processEnv(services));
  const jobId = randomUUID();
  const progress = { jobId, attempt: 1, progress: 1 / 3, stage: "tile", preview: "AAAA" };
  // Nothing says when a process listens: hints are sent until one arrives.
  const sending = setInterval(() => services.hints.publish({ type: "progress", progress }), 100);
  await run.seen(new RegExp(`"type":"progress","jobId":"${jobId}".*"progress":0.33,"previewBytes":3`));
  clearInterval(sending);
  services.hints.publish({ type: "cancel", jobId });
  await run.seen(new RegExp(`{"type":"cancel","jobId":"${jobId}"}`));
  run.child.kill("SIGINT");
  expect(await run.ended).toBe(0);
});

test(
  "print-statements shows the statements of a process with their times, and no params",
  inAll,
  async () => {
    const env = {
      ...processEnv(fixture.services),
      NODE_OPTIONS: `--import=${script("print-statements.ts")}`,
    };
    const command = path.join(import.meta.dirname, "../cli/main.ts");
    const run = runNode([command, "users", "list", "--search", "a-secret-word"], env);
    expect(await run.ended).toBe(0);
    expect(run.output()).toMatch(/^sql +\d+\.\d ms ok .*select .*users/m);
    expect(run.output()).not.toContain("a-secret-word");
  },
);
