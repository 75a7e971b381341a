import { addNode } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { sampleFiles } from "@atelier/testing/workflows";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { schema } from "../db/index.ts";
import { parseWorkflow } from "../workflows/index.ts";
import { findWorkflow } from "./workflows.ts";

let opened: TestServices;
beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());

test("a name that is not there is looked for once; what is published later is found", async () => {
  const { db } = opened.services;
  const nodeId = await addNode(opened.services);
  const execute = vi.spyOn(db, "execute");
  for (let count = 0; count < 5; count += 1) expect(await findWorkflow(db, "later")).toBeNull();
  expect(execute).toHaveBeenCalledTimes(1);
  execute.mockRestore();
  const { manifest, graph } = sampleFiles();
  const { hash, name } = parseWorkflow({ name: "later", manifest, graph, isBuiltIn: false });
  await db.insert(schema.nodeWorkflows).values({ nodeId, name, hash, manifest, graph });
  await vi.waitFor(async () => expect(await findWorkflow(db, "later")).toMatchObject({ hash }), 5_000);
});
