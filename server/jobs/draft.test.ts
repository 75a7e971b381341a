import { readFile } from "node:fs/promises";
import path from "node:path";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { readJob } from "@atelier/testing/jobs";
import { openJobScene } from "@atelier/testing/scenes";
import { newId } from "../platform/index.ts";
import { rulesFor } from "./admission.ts";
import { prepare } from "./draft.ts";
import { parseSubmit } from "./request.ts";

const scene = openJobScene();
const acceptJob = path.join(import.meta.dirname, "../db/functions/accept-job.sql");

test("accept_job stores each column that a draft has, as it is", async () => {
  const { services, owner } = scene;
  const request = parseSubmit({ kind: "upscale", inputs: { image: owner.imageId } });
  const { row } = await prepare(services, { id: newId(), request, options: { submitter: owner }, key: null });
  // No two values are alike, and none is the default of its column.
  const full = {
    ...row,
    tier: 3,
    params: { of: "params" },
    workflow: "a workflow",
    model: "a model",
    ownOnly: true,
    agreed: { ownOnly: false, maxPriceUsd: 5, unknownPrice: false },
    sizeClass: 7,
    inputCount: 2,
    retention: "ephemeral",
    retryOf: newId(),
    retryNumber: 4,
    once: true,
    requestId: "a request",
    traceparent: "a span",
    maxRetries: 1,
    sessionId: "a session",
    metadata: { of: "metadata" },
    template: { of: "template" },
  };
  expect(Object.keys(full).toSorted()).toEqual(Object.keys(row).toSorted());
  const text = await readFile(acceptJob, "utf8");
  const stored = new Set([...text.matchAll(/p_job ->>? '(\w+)'/g)].map(([, name]) => name));
  expect(new Set(Object.keys(row))).toEqual(stored);
  const rules = { ...rulesFor(services.config, false), event: {} };
  const [answer] = await services.db.execute(
    sql`select outcome from accept_job(${JSON.stringify(full)}::jsonb, '[]'::jsonb, ${JSON.stringify(rules)}::jsonb)`,
  );
  expect(answer).toEqual({ outcome: "accepted" });
  expect(await readJob(services, row.id)).toMatchObject(full);
});
