import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { findWorkflow, knownWorkflows } from "../scheduling/index.ts";
import { builtInWorkflows, parseWorkflow, type Workflow } from "../workflows/index.ts";
import { register, type Registration } from "./register.ts";
import { retire } from "./leave.ts";

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
  for (const node of [first, same]) await retire(services, node.id);
  const later = await register(services, registration("later", [ownWorkflow("house", "Another")]));
  expect(later.problems).toEqual([]);
});
