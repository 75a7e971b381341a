import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import {
  CancelTaskRequestSchema,
  ErrorCode,
  GetTaskPayloadRequestSchema,
  GetTaskRequestSchema,
  ListTasksRequestSchema,
  McpError,
  RELATED_TASK_META_KEY,
  type Task,
} from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { requireRight } from "../../accounts/index.ts";
import { taskMark } from "../../db/index.ts";
import { cancelSession, get, isFinal, type JobView, list, listTasks } from "../../jobs/index.ts";
import { AppError, isId } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import type { ClientInput } from "../clients/route.ts";
import { logFailure } from "../http/request-log.ts";
import { classifyError } from "../requests.ts";
import { answerOf, follow, longestWaitS, toResult } from "./making.ts";

/** What the server says of tasks when a client connects. */
export const taskCapability = { list: {}, cancel: {}, requests: { tools: { call: {} } } };

/** A hint for clients that ask again and again; those that wait use tasks/result. */
const pollIntervalMs = 2_000;

/**
 * Answers what clients ask about tasks. A task is the jobs whose session id is `taskMark` and the id of the task: nothing else is
 * stored of it. A task of another user is as unknown as what never was. */
export function serveTasks(server: McpServer["server"], input: ClientInput): void {
  const { services } = input;
  server.setRequestHandler(GetTaskRequestSchema, ({ params }) =>
    asRpc(services, async () => ({ ...toTask(await readTask(input, params.taskId)) })),
  );
  server.setRequestHandler(GetTaskPayloadRequestSchema, ({ params: { taskId } }, extra) =>
    asRpc(services, async () => {
      const open = (await readTask(input, taskId)).filter(({ status }) => !isFinal(status));
      const ids = open.map(({ id }) => id);
      if (ids.length > 0) await follow(input, { ids, waitSeconds: longestWaitS }, extra);
      return { ...(await resultOf(input, taskId)), _meta: { [RELATED_TASK_META_KEY]: { taskId } } };
    }),
  );
  server.setRequestHandler(ListTasksRequestSchema, ({ params }) =>
    asRpc(services, async () => {
      const own = { ownerId: input.caller.userId, cursor: params?.cursor };
      const { tasks, nextCursor } = await listTasks(services, own);
      return { tasks: tasks.map(toTask), ...(nextCursor === null ? {} : { nextCursor }) };
    }),
  );
  server.setRequestHandler(CancelTaskRequestSchema, ({ params: { taskId } }) =>
    asRpc(services, () => cancelTask(input, taskId)),
  );
}

/** The jobs of a task, the first one first. Throws `not_found`. */
async function readTask({ services, caller }: ClientInput, taskId: string): Promise<readonly JobView[]> {
  const asked = { ownerId: caller.userId, sessionId: `${taskMark}${taskId}`, limit: 100 };
  const { items } = isId(taskId) ? await list(services, asked) : { items: [] };
  if (items.length === 0) throw new AppError("not_found", "Task not found.");
  return items.toReversed();
}

async function resultOf(input: ClientInput, taskId: string) {
  const jobs = await readTask(input, taskId);
  if (toTask(jobs).status === "working")
    throw new McpError(ErrorCode.RequestTimeout, "The task goes on: ask for its result again.");
  return toResult(await answerOf(input, { ids: jobs.map(({ id }) => id), jobs, notes: [] }));
}

async function cancelTask(input: ClientInput, taskId: string): Promise<Task> {
  const { services, caller } = input;
  requireRight(caller, "create");
  const jobs = await readTask(input, taskId);
  requireStatus(toTask(jobs), "working");
  // By its name, so that a call that still stores jobs of it stores no more.
  await cancelSession(services, { ownerId: caller.userId, sessionId: `${taskMark}${taskId}` });
  // All of it may have ended meanwhile.
  return requireStatus(toTask(await readTask(input, taskId)), "cancelled");
}

function requireStatus(task: Task, wanted: Task["status"]): Task {
  if (task.status === wanted) return task;
  throw new McpError(ErrorCode.InvalidParams, `The task cannot be cancelled: it is ${task.status}.`);
}

/**
 * A job whose worker was asked to stop counts as cancelled, as the specification wants it: at once, and also when its picture comes in spite
 * of that. A job that has ended gets no such request, so this changes no more.
 */
const statusOf = ({ status, cancelRequested }: JobView) => (cancelRequested ? "cancelled" : status);

function toTask(jobs: readonly JobView[]): Task {
  const all = jobs.toSorted((one, other) => (one.id < other.id ? -1 : 1));
  const statuses = all.map(statusOf);
  const times = all.flatMap(({ createdAt, startedAt, endedAt }) => [
    createdAt,
    startedAt ?? "",
    endedAt ?? "",
  ]);
  const said = all.map(({ error, stage }) => error?.message ?? stage).find((text) => text !== null);
  return {
    taskId: (all[0]?.sessionId ?? "").slice(taskMark.length),
    status: together(statuses),
    ...(said === undefined || said === null ? {} : { statusMessage: said }),
    createdAt: all[0]?.createdAt ?? "",
    lastUpdatedAt: times.toSorted().at(-1) ?? "",
    // Jobs are kept as long as their account, whatever a client asks for.
    ttl: null,
    pollInterval: pollIntervalMs,
  };
}

/** Of one job's end each, so that it is final: no answer says `completed` after one that said `cancelled`. */
function together(statuses: readonly JobView["status"][]): Task["status"] {
  if (!statuses.every(isFinal)) return "working";
  if (statuses.includes("cancelled")) return "cancelled";
  return statuses.includes("completed") ? "completed" : "failed";
}

const orderedSchema = z.array(z.object({ jobId: z.uuid() })).min(1);

/** The task of jobs that a call ordered. A repeated `Idempotency-Key` gives the task of the first call. */
export async function taskOfJobs(input: ClientInput, ordered: unknown): Promise<Task> {
  const [first] = orderedSchema.parse(ordered);
  const { sessionId } = await get(input.services, { ownerId: input.caller.userId, id: first?.jobId ?? "" });
  if (sessionId?.startsWith(taskMark) !== true)
    throw new AppError("conflict", "The Idempotency-Key is that of a call without a task.");
  return toTask(await readTask(input, sessionId.slice(taskMark.length)));
}

/** Gives errors to the program as those of JSON-RPC. */
export async function asRpc<T>(services: Services, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof McpError) throw error;
    const failure = classifyError(error);
    logFailure(services, failure);
    const { code, message, details } = failure;
    const number = code === "internal" ? ErrorCode.InternalError : ErrorCode.InvalidParams;
    throw new McpError(number, message, { ...details, code });
  }
}
