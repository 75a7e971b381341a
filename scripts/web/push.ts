import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { openTaskUpdates, type TaskUpdates } from "@atelier/server/api/task-updates";
import { isPushRequest, openPush, type Push } from "@atelier/server/assistant/push";
import { answerRaw, loadConfigOr, parseEnv } from "@atelier/server/platform";
import { openServices } from "@atelier/server/services";
import builtInConfig from "../../atelier.config.ts";

/** One listens for notices, the others read. */
const connections = 3;

interface Opened {
  readonly push: Push;
  /** Null unless programs that were written for other servers are served. */
  readonly tasks: TaskUpdates | null;
}

/** Next has its own copy of the server's code, without a way to it from here: these are services beside it. */
async function open(): Promise<Opened> {
  const { env, problems } = parseEnv(process.env);
  if (!env) throw new Error(problems.map(({ name, message }) => `${name}: ${message}`).join("; "));
  const config = await loadConfigOr(env.ATELIER_CONFIG, builtInConfig);
  const own = { ...env, DATABASE_MAX_CONNECTIONS: env.DATABASE_MAX_CONNECTIONS ?? connections };
  const services = await openServices({ env: own, config, name: "web-sockets" });
  const push = openPush(services, { credentials: "key_or_session" });
  const tasks = env.EXISTING_CLIENTS ? openTaskUpdates(services) : null;
  const stop = () => void Promise.all([push.close(), tasks?.close()]).then(() => services.close());
  // Next listens for the same signals, and ends the process when its connections are closed.
  process.once("SIGTERM", stop).once("SIGINT", stop);
  return { push, tasks };
}

let opening: Promise<Opened> | null = null;

/** What serves sockets; after a failure the next request tries again, and gets null now. */
async function opened(): Promise<Opened | null> {
  try {
    return await (opening ??= open());
  } catch (error) {
    opening = null;
    const reason = error instanceof Error ? error.message : "unknown";
    process.stderr.write(`WebSockets cannot be served: ${reason}\n`);
    return null;
  }
}

/** Serves one WebSocket. */
export async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
  const found = await opened();
  if (!found) answerRaw(socket, { status: 503 });
  else if (isPushRequest(request)) found.push.upgrade(request, socket, head);
  else if (found.tasks) found.tasks.upgrade(request, socket, head);
  else answerRaw(socket, { status: 404 });
}

/** Serves a request of socket.io, which begins without a WebSocket. */
export async function takeTaskRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const found = await opened();
  if (found?.tasks) return found.tasks.request(request, response);
  response.writeHead(found ? 404 : 503).end();
}
