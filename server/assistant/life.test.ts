import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import pg from "pg";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import { ask, stopQuestion } from "./ask.ts";
import { addSpeaker } from "./import-talks.ts";
import type { HintMessage } from "../queue/index.ts";
import { addMemory, deleteMemory } from "./memories.ts";
import { readConversation, readClientQuestion } from "./read.ts";
import { recall } from "./recall/recall.ts";
import { recoverQuestions } from "./recover.ts";
import {
  capture,
  completeQuestion,
  endStage,
  failQuestion,
  handBackStage,
  leaseOf,
  type QuestionRow,
  type Stage,
  stageAt,
  storePartialAnswer,
} from "./life.ts";
import { pauseMemory } from "./settings.ts";

let fixture: TestServices;
beforeAll(async () => void (fixture = await createTestServices()));
afterAll(() => fixture.close());

const analysis = {
  needsContext: false,
  contextType: "none",
  timeScope: null,
  searchKeywords: [],
  contextFound: [],
  isByRule: true,
} as const;
const context = {
  instructions: "Be brief.",
  messages: [{ role: "user", content: "What do I like?" }],
  used: [],
  tokens: { total: 9, memory: 0 },
  isCut: false,
} as const;
const answer = { text: "Linen.", thinking: "", parts: [], isRecalled: true };

async function addNode(state: "active" | "gone" = "active"): Promise<string> {
  const id = newId();
  await fixture.services.db.execute(
    `insert into nodes (id, name, state, hostname, boot_id, pid, pid_started_at, capability) select '${id}', '${id}', '${state}', 'host', 'boot', 1, 'now', '{}'`,
  );
  return id;
}

async function asked(text = "What do I like?") {
  const ownerId = await addSpeaker(fixture.services.db, "Ann");
  return { ownerId, ...(await ask(fixture.services, { ownerId, text })) };
}

const stageFrom = (status: QuestionRow["status"]): Stage => {
  const stage = stageAt(status);
  if (!stage) throw new Error(`no stage begins at ${status}`);
  return stage;
};

async function captured(runId: string, status: QuestionRow["status"], nodeId: string): Promise<QuestionRow> {
  const run = await capture(fixture.services, { runId, stage: stageFrom(status), nodeId });
  if (!run) throw new Error("not captured");
  return run;
}

async function statuses(runId: string): Promise<string[]> {
  const { assistantRunEvents } = schema;
  const rows = await fixture.services.db
    .select()
    .from(assistantRunEvents)
    .where(eq(assistantRunEvents.runId, runId))
    .orderBy(assistantRunEvents.revision);
  return rows.map(({ status }) => status);
}

test("B2 of 20 orchestrators one wins each stage, and its run has one story", async () => {
  const { services } = fixture;
  const { runId, ownerId, conversationId } = await asked();
  const nodes = await Promise.all(Array.from({ length: 20 }, () => addNode()));
  for (const status of ["new", "analyzed", "ready"] as const) {
    const stage = stageFrom(status);
    const won = await Promise.all(nodes.map((nodeId) => capture(services, { runId, stage, nodeId })));
    const winners = won.filter((run) => run !== null);
    expect(winners).toHaveLength(1);
    for (const run of winners)
      await (stage.name === "responder"
        ? completeQuestion(services, leaseOf(run), answer)
        : endStage(services, leaseOf(run), {
            stage,
            set: stage.name === "analyzer" ? { analysis } : { context },
          }));
  }
  expect(await statuses(runId)).toEqual([
    "new",
    "analyzing",
    "analyzed",
    "assembling",
    "ready",
    "responding",
    "completed",
  ]);
  const { turns } = await readConversation(services, { ownerId, id: conversationId });
  expect(turns).toMatchObject([{ question: "What do I like?", answer: "Linen." }]);
});

test("B2 the writes of a worker that lost its stage match no row", async () => {
  const { services } = fixture;
  const { runId } = await asked();
  const stage = stageFrom("new");
  const late = await captured(runId, "new", await addNode());
  await handBackStage(services, leaseOf(late), stage);
  const next = await captured(runId, "new", await addNode());
  expect(await endStage(services, leaseOf(late), { stage, set: { analysis } })).toBeNull();
  expect(await failQuestion(services, leaseOf(late), { code: "internal", message: "" })).toBe(false);
  expect(await endStage(services, leaseOf(next), { stage, set: { analysis } })).toMatchObject({
    status: "analyzed",
  });
});

test("B2 a node that is not active captures nothing", async () => {
  const { runId } = await asked();
  const nodeId = await addNode("gone");
  expect(await capture(fixture.services, { runId, stage: stageFrom("new"), nodeId })).toBeNull();
});

test("the stages of a lost worker are given back; the third loss fails the run, and only names stay of what it was given", async () => {
  const { services } = fixture;
  const { runId, ownerId } = await asked();
  for (const [status, set] of [
    ["new", { analysis }],
    ["analyzed", { context }],
  ] as const) {
    const run = await captured(runId, status, await addNode());
    await endStage(services, leaseOf(run), { stage: stageFrom(status), set });
  }
  for (let losses = 1; losses <= 3; losses += 1) {
    const nodeId = await addNode();
    expect((await captured(runId, "ready", nodeId)).context).toEqual(context);
    await services.db.execute(`update nodes set state = 'lost' where id = '${nodeId}'`);
    await recoverQuestions(services, { nodeId: null, busyIds: () => [] });
  }
  expect(await readClientQuestion(services, { userId: ownerId, isAdmin: false }, runId)).toMatchObject({
    status: "failed",
    error: { code: "worker_lost" },
    endedAt: expect.any(String),
  });
  const { assistantRuns } = schema;
  const [row] = await services.db.select().from(assistantRuns).where(eq(assistantRuns.id, runId));
  expect(row).toMatchObject({ nodeId: null, context: { ...context, instructions: "", messages: [] } });
});

test("B6 a stopped question ends with its worker, also with the third that is lost", async () => {
  const { services } = fixture;
  const { runId, ownerId } = await asked();
  for (let losses = 1; losses <= 3; losses += 1) {
    const nodeId = await addNode();
    await captured(runId, "new", nodeId);
    if (losses === 3) await stopQuestion(services, { ownerId, id: runId });
    await services.db.execute(`update nodes set state = 'lost' where id = '${nodeId}'`);
    await recoverQuestions(services, { nodeId: null, busyIds: () => [] });
  }
  const run = await readClientQuestion(services, { userId: ownerId, isAdmin: false }, runId);
  expect(run).toMatchObject({ status: "completed", answer: "", error: null });
});

test("a stage that a worker has by its row alone is given back by this worker, one that it has just taken is not", async () => {
  const { services } = fixture;
  const [kept, forgotten, taken] = [await asked(), await asked(), await asked()];
  const nodeId = await addNode();
  for (const { runId } of [kept, forgotten]) await captured(runId, "new", nodeId);
  const busyIds = [kept.runId];
  await captured(taken.runId, "new", nodeId);
  const recovered = recoverQuestions(services, { nodeId, busyIds: () => busyIds });
  // As by a hint during the read of the rows.
  busyIds.push(taken.runId);
  await recovered;
  const statusOf = async ({ runId, ownerId }: typeof kept) =>
    (await readClientQuestion(services, { userId: ownerId, isAdmin: false }, runId)).status;
  expect(await statusOf(kept)).toBe("analyzing");
  expect(await statusOf(forgotten)).toBe("new");
  expect(await statusOf(taken)).toBe("analyzing");
});

test("B6 a stop keeps the words that a lost worker had stored, in the conversation and in its log", async () => {
  const { services } = fixture;
  const { runId, ownerId, conversationId } = await asked();
  for (const [status, set] of [
    ["new", { analysis }],
    ["analyzed", { context }],
  ] as const) {
    const run = await captured(runId, status, await addNode());
    await endStage(services, leaseOf(run), { stage: stageFrom(status), set });
  }
  const late = await captured(runId, "ready", await addNode());
  await storePartialAnswer(services, leaseOf(late), { answer: "Linen, and", parts: [], thinking: "Hm." });
  await handBackStage(services, leaseOf(late), stageFrom("ready"));
  await stopQuestion(services, { ownerId, id: runId });
  const run = await readClientQuestion(services, { userId: ownerId, isAdmin: false }, runId);
  expect(run).toMatchObject({ status: "completed", answer: "Linen, and", thinking: "Hm." });
  const { assistantMessages, assistantRuns } = schema;
  const said = await services.db
    .select({ role: assistantMessages.role, text: assistantMessages.text, id: assistantMessages.id })
    .from(assistantMessages)
    .where(eq(assistantMessages.conversationId, conversationId))
    .orderBy(assistantMessages.at);
  expect(said).toMatchObject([{ role: "user" }, { role: "assistant", text: "Linen, and" }]);
  const [row] = await services.db.select().from(assistantRuns).where(eq(assistantRuns.id, runId));
  expect(row?.answerId).toBe(said[1]?.id);
});

test("B1 two questions at once in one conversation: one is answered, the other one has to wait", async () => {
  const { services } = fixture;
  const first = await asked();
  const run = await captured(first.runId, "new", await addNode());
  await failQuestion(services, leaseOf(run), { code: "timeout", message: "" });
  const again = () =>
    ask(services, { ownerId: first.ownerId, text: "Again?", conversationId: first.conversationId });
  const outcomes = await Promise.allSettled([again(), again(), again()]);
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  for (const outcome of outcomes)
    expect(outcome.status === "fulfilled" ? "conflict" : outcome.reason.code).toBe("conflict");
});

test("B1 a question in another's conversation is refused like one in an unknown one, and many open ones are", async () => {
  const { services } = fixture;
  const { conversationId } = await asked();
  const ownerId = await addSpeaker(services.db, "Ben");
  for (const id of [conversationId, newId(), "nonsense"])
    await expect(ask(services, { ownerId, text: "Hm?", conversationId: id })).rejects.toMatchObject({
      code: "not_found",
    });
  for (let open = 0; open < services.config.assistant.openRuns; open += 1)
    await ask(services, { ownerId, text: "And?" });
  await expect(ask(services, { ownerId, text: "And?" })).rejects.toMatchObject({ code: "quota_exceeded" });
});

test("B1 a question under one key is one question: at once, after a lost answer, while it is answered and afterwards", async () => {
  const { services } = fixture;
  const { db } = services;
  const ownerId = await addSpeaker(db, "Eve");
  const say = (text: string, idempotencyKey: string, conversationId?: string) =>
    ask(services, { ownerId, text, idempotencyKey, ...(conversationId ? { conversationId } : {}) });
  const countQuestions = () => db.$count(schema.assistantRuns, eq(schema.assistantRuns.ownerId, ownerId));
  const first = await Promise.all(Array.from({ length: 12 }, () => say("Hello?", "one")));
  expect(new Set(first.map(({ runId }) => runId)).size).toBe(1);
  const [{ runId, conversationId } = await say("Hello?", "one")] = first;
  expect(await say("Hello?", "one")).toEqual({ runId, conversationId });
  await expect(say("Another?", "one")).rejects.toMatchObject({ code: "idempotency_mismatch" });
  const run = await captured(runId, "new", await addNode());
  await failQuestion(services, leaseOf(run), { code: "timeout", message: "" });
  expect(await say("Hello?", "one")).toEqual({ runId, conversationId });
  // The same words under another key, or later in the conversation, are another question.
  const next = await Promise.all(Array.from({ length: 12 }, () => say("Hello?", "two", conversationId)));
  expect(new Set(next.map((one) => one.runId)).size).toBe(1);
  expect(next[0]?.runId).not.toBe(runId);
  expect(await countQuestions()).toBe(2);
  // A key of another account is another key.
  const stranger = await addSpeaker(db, "Mallory");
  const other = await ask(services, { ownerId: stranger, text: "Hello?", idempotencyKey: "one" });
  expect(other.conversationId).not.toBe(conversationId);
  await db.delete(schema.assistantConversations).where(eq(schema.assistantConversations.id, conversationId));
  await expect(say("Hello?", "one")).rejects.toMatchObject({ code: "conflict" });
});

test("B1 a question that is refused leaves no conversation and no key", async () => {
  const { services } = fixture;
  const ownerId = await addSpeaker(services.db, "Joe");
  const asking = (text: string) => ask(services, { ownerId, text, idempotencyKey: text });
  const open = [];
  for (let at = 0; at < services.config.assistant.openRuns; at += 1) open.push(await asking(`${at}?`));
  await expect(asking("Full?")).rejects.toMatchObject({ code: "quota_exceeded" });
  const { assistantConversations } = schema;
  const count = () => services.db.$count(assistantConversations, eq(assistantConversations.ownerId, ownerId));
  expect(await count()).toBe(open.length);
  const run = await captured(open[0]?.runId ?? "", "new", await addNode());
  await failQuestion(services, leaseOf(run), { code: "timeout", message: "" });
  await asking("Full?");
  expect(await count()).toBe(open.length + 1);
});

test("what is said while the memory is paused is not recalled, later either", async () => {
  const { services } = fixture;
  const ownerId = await addSpeaker(services.db, "Ann");
  await pauseMemory(services, { userId: ownerId, isPaused: true });
  await ask(services, { ownerId, text: "My secret size." });
  await pauseMemory(services, { userId: ownerId, isPaused: false });
  const { assistantMessages } = schema;
  const rows = await services.db
    .select()
    .from(assistantMessages)
    .where(eq(assistantMessages.ownerId, ownerId));
  expect(rows).toMatchObject([{ isRecalled: false, archivedAt: expect.any(Date) }]);
});

/** A question of Ann's with a memory that was made from it; `answered` stores the answer. */
async function remembered() {
  const { services } = fixture;
  const { runId, ownerId, conversationId } = await asked("My door code is 4711 qwxyz.");
  const nodeId = await addNode();
  for (const [status, set] of [
    ["new", { analysis }],
    ["analyzed", { context }],
  ] as const)
    await endStage(services, leaseOf(await captured(runId, status, nodeId)), {
      stage: stageFrom(status),
      set,
    });
  const run = await captured(runId, "ready", nodeId);
  const { id } = await addMemory(services, { ownerId, text: "The door code qwxyz." });
  const { memories } = schema;
  await services.db
    .update(memories)
    .set({ sourceIds: [run.questionId] })
    .where(eq(memories.id, id));
  const text = "Noted: your door code is 4711 qwxyz.";
  return {
    forget: () => deleteMemory(services, { ownerId, id }),
    answered: () => completeQuestion(services, leaseOf(run), { ...answer, text }),
    ask: (more: string) => ask(services, { ownerId, conversationId, text: more }),
    found: async () => {
      const hits = await recall(services, ownerId, "door code qwxyz", { limit: 10 });
      return hits.map((hit) => hit.text).toSorted();
    },
  };
}

test("M2 what an answer repeats of a deleted memory is found no more, other lines stay", async () => {
  const { answered, found, forget, ask: askMore } = await remembered();
  await answered();
  await askMore("Is qwxyz a good door code?");
  expect(await found()).toHaveLength(4);
  await forget();
  expect(await found()).toEqual(["Is qwxyz a good door code?"]);
});

test.each(["before", "while"] as const)(
  "M2 an answer that is stored %s its memory is deleted is found no more",
  async (when) => {
    const { answered, found, forget } = await remembered();
    if (when === "before") await forget();
    await Promise.all(when === "before" ? [answered()] : [answered(), forget()]);
    expect(await found()).toEqual([]);
  },
);

test("B3 hints tell all processes of each status, and of a stop", async () => {
  const another = await fixture.openAnother();
  const heard: HintMessage[] = [];
  const close = another.hints.subscribe((message) => heard.push(message));
  await vi.waitUntil(() => {
    fixture.services.hints.publish({ type: "cancel", jobId: "none" });
    return heard.length > 0;
  });
  const { runId } = await asked();
  const nodeId = await addNode();
  for (const [from, set] of [
    ["new", { analysis }],
    ["analyzed", { context }],
    ["ready", null],
  ] as const) {
    const run = await capture(fixture.services, { runId, stage: stageFrom(from), nodeId });
    if (!run) throw new Error("not captured");
    if (set) await endStage(fixture.services, leaseOf(run), { stage: stageFrom(from), set });
    else await completeQuestion(fixture.services, leaseOf(run), answer);
  }
  const stopped = await asked();
  await stopQuestion(fixture.services, await ownerOf(stopped.runId));
  const told = () =>
    heard.flatMap((message) => {
      if (message.type === "stop") return [`stop ${message.runId}`];
      return message.type === "run" ? [`${message.runId} ${message.status}`] : [];
    });
  const statuses = ["new", "analyzing", "analyzed", "assembling", "ready", "responding", "completed"];
  await expect
    .poll(told)
    .toEqual([
      ...statuses.map((status) => `${runId} ${status}`),
      `${stopped.runId} new`,
      `${stopped.runId} completed`,
      `stop ${stopped.runId}`,
    ]);
  close();
});

test("B3 programs of one's own are told of each status on the channel that they know", async () => {
  const listener = new pg.Client({ connectionString: fixture.services.env.DATABASE_URL });
  await listener.connect();
  const heard: unknown[] = [];
  listener.on("notification", ({ channel, payload }) => heard.push([channel, JSON.parse(payload ?? "")]));
  await listener.query("listen pipeline_events");
  const { runId } = await asked();
  const nodeId = await addNode();
  for (const from of ["new", "analyzed", "ready"] as const) {
    const stage = stageFrom(from);
    const run = await capture(fixture.services, { runId, stage, nodeId });
    if (!run) throw new Error("not captured");
    if (from === "new") await endStage(fixture.services, leaseOf(run), { stage, set: { analysis } });
    else if (from === "analyzed") await endStage(fixture.services, leaseOf(run), { stage, set: { context } });
    else await completeQuestion(fixture.services, leaseOf(run), answer);
  }
  const statuses = ["NEW", "ANALYZING", "ANALYZED", "ASSEMBLING", "READY", "RESPONDING", "COMPLETED"];
  const told = statuses.map((status) => [
    "pipeline_events",
    { id: runId, status, operation: status === "NEW" ? "INSERT" : "UPDATE" },
  ]);
  await expect.poll(() => heard).toEqual(told);
  await listener.end();
});

async function ownerOf(runId: string) {
  const { assistantRuns } = schema;
  const [run] = await fixture.services.db.select().from(assistantRuns).where(eq(assistantRuns.id, runId));
  return { ownerId: run?.ownerId ?? "", id: runId };
}
