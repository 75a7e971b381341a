import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { schema } from "../db/index.ts";
import { findWorkflow, knownWorkflows } from "../scheduling/index.ts";
import { builtInWorkflows, parseWorkflow, type Workflow } from "../workflows/index.ts";
import { publishRefused } from "./workflows.ts";
import { register, type Registration } from "./register.ts";
import { markGone } from "./presence.ts";

let opened: TestServices;

beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());

/** A workflow of an operator's own: a built-in one under another name and title. */
function ownWorkflow(name: string, title: string): Workflow {
  const base = builtInWorkflows.find((workflow) => workflow.name === "t2i_sd15");
  if (!base) throw new Error("the built-in workflow is missing");
  return parseWorkflow({ name, manifest: { ...base.manifest, title }, graph: base.graph, isBuiltIn: false });
}

const registration = (name: string, workflows: readonly Workflow[]): Registration => ({
  name,
  identity: { hostname: name, bootId: name, pid: 1, pidStartedAt: "0" },
  capability: { cores: 1, memoryBytes: 1, gpus: [], kinds: [], engines: [] },
  queues: [],
  workflows,
});

test("D4 a node publishes its own workflows; another content under a live node's name is refused alone", async () => {
  const { services } = opened;
  const first = await register(services, registration("first", [ownWorkflow("house", "House style")]));
  expect(first.problems).toEqual([]);
  const same = await register(services, registration("same", [ownWorkflow("house", "House style")]));
  expect(same.problems).toEqual([]);
  const mixed = [ownWorkflow("house", "Another"), ownWorkflow("garden", "Garden style")];
  const other = await register(services, registration("other", mixed));
  expect(other.problems).toEqual([{ what: "house", reason: expect.stringMatching(/first|same/) }]);
  expect(await findWorkflow(services.db, "house")).toMatchObject({ title: "House style" });
  expect(await findWorkflow(services.db, "garden")).toMatchObject({
    title: "Garden style",
    isBuiltIn: false,
  });
  expect(await findWorkflow(services.db, "nothing")).toBeNull();
  expect(await knownWorkflows(services.db)).toHaveLength(builtInWorkflows.length + 2);
  expect(await publishRefused(services, other.id, mixed)).toEqual(other.problems);
  for (const node of [first, same]) await markGone(services, node.id);
  expect(await publishRefused(services, other.id, mixed)).toEqual([]);
  await markGone(services, other.id);
  const later = await register(services, registration("later", [ownWorkflow("house", "Another")]));
  expect(later.problems).toEqual([]);
});

test("D4 of two nodes that publish one name at the same moment one is refused", async () => {
  const { services } = opened;
  const nodes = await Promise.all(
    Array.from({ length: 6 }, (_, at) =>
      register(services, registration(`racer-${at}-x`, [ownWorkflow("race", `Title ${at}`)])),
    ),
  );
  expect(nodes.filter(({ problems }) => problems.length === 0)).toHaveLength(1);
});

test("a published workflow that this process cannot use leaves the others in use", async () => {
  const { services } = opened;
  const node = await register(services, registration("newer", [ownWorkflow("fine", "Fine")]));
  const row = { nodeId: node.id, name: "future", hash: "f", manifest: { later: true }, graph: {} };
  await services.db.insert(schema.nodeWorkflows).values(row);
  expect(await findWorkflow(services.db, "future")).toBeNull();
  expect(await findWorkflow(services.db, "fine")).toMatchObject({ title: "Fine" });
});
