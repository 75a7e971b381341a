import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { openPush, type Push } from "@atelier/server/assistant/push";
import { answerRaw, loadConfigOr, parseEnv } from "@atelier/server/platform";
import { openServices, type Services } from "@atelier/server/services";
import builtInConfig from "../../atelier.config.ts";

/** One listens for notices, the others read. */
const connections = 3;

interface Opened {
  readonly services: Services;
  readonly push: Push;
}

/** Next has its own copy of the server's code, without a way to it from here: these are services beside it. */
async function open(): Promise<Opened> {
  const { env, problems } = parseEnv(process.env);
  if (!env) throw new Error(problems.map(({ name, message }) => `${name}: ${message}`).join("; "));
  const config = await loadConfigOr(env.ATELIER_CONFIG, builtInConfig);
  const own = { ...env, DATABASE_MAX_CONNECTIONS: env.DATABASE_MAX_CONNECTIONS ?? connections };
  const services = await openServices({ env: own, config, name: "web-sockets" });
  const push = openPush(services, { credentials: "key_or_session" });
  const stop = () => void push.close().then(() => services.close());
  // Next listens for the same signals, and ends the process when its connections are closed.
  process.once("SIGTERM", stop).once("SIGINT", stop);
  return { services, push };
}

let opening: Promise<Opened> | null = null;

/** Serves one WebSocket; after a failure the next one tries again. */
export async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
  try {
    opening ??= open();
    (await opening).push.upgrade(request, socket, head);
  } catch (error) {
    opening = null;
    process.stderr.write(
      `WebSockets cannot be served: ${error instanceof Error ? error.message : "unknown"}\n`,
    );
    answerRaw(socket, { status: 503 });
  }
}
