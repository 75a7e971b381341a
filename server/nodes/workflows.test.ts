import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { schema } from "../db/index.ts";
import {
  decideLicence,
  findWorkflow,
  knownWorkflows,
  offeredWorkflows,
  workflowFacts,
} from "../scheduling/index.ts";
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
  const base = builtInWorkflows().find((workflow) => workflow.name === "t2i_sd15");
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
  const free = builtInWorkflows().filter(({ licence }) => licence?.mustBeAccepted !== true);
  expect(await knownWorkflows(services.db)).toHaveLength(free.length + 2);
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

test("D4 a workflow whose licence needs an admin's consent is shown but off until it is given, and off again after", async () => {
  const { services } = opened;
  const name = "edit_qwen_image_2_1";
  const isKnown = async () => (await knownWorkflows(services.db)).some((one) => one.name === name);
  const factsOf = async () =>
    (await workflowFacts(services.db, services.config)).find((one) => one.name === name);
  expect(await isKnown()).toBe(false);
  expect(await factsOf()).toMatchObject({
    isLive: false,
    missing: ["an admin's consent to its licence (Qwen Research License)"],
    sizeGb: 16.1,
    vramGib: 12,
    licence: { isCommercial: false, isAccepted: false },
  });
  const offered = (await offeredWorkflows(services.db, services.config)).find((one) => one.name === name);
  expect(offered).toMatchObject({ isLive: false });
  const licence = { name: "Qwen Research License" };
  for (const isAccepted of [true, true, false]) {
    await decideLicence(services.db, { ...licence, isAccepted });
    expect([await isKnown(), (await factsOf())?.licence?.isAccepted]).toEqual([isAccepted, isAccepted]);
    // A job that has it goes on.
    expect(await findWorkflow(services.db, name)).toMatchObject({ name });
  }
  const unknown = decideLicence(services.db, { name: "Apache-2.0", isAccepted: true });
  await expect(unknown).rejects.toMatchObject({ code: "not_found" });
});

test("a published workflow that this process cannot use leaves the others in use", async () => {
  const { services } = opened;
  const node = await register(services, registration("newer", [ownWorkflow("fine", "Fine")]));
  const row = { nodeId: node.id, name: "future", hash: "f", manifest: { later: true }, graph: {} };
  await services.db.insert(schema.nodeWorkflows).values(row);
  expect(await findWorkflow(services.db, "future")).toBeNull();
  expect(await findWorkflow(services.db, "fine")).toMatchObject({ title: "Fine" });
});
