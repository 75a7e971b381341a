import type { NodeProblem } from "@atelier/server/db";
import { ask, wordsOf } from "@atelier/server/doctor";
import { serverLabel } from "@atelier/server/jobs";
import { explain, toAppError } from "@atelier/server/platform";
import type { Workflow } from "@atelier/server/workflows";
import { socketFault } from "../clients/comfyui/index.ts";
import type { ServerEngine, ServerFacts } from "./index.ts";
import { createProbe } from "./probes.ts";
import { createSources } from "./sources/index.ts";
import type { ListedServer } from "./sources/http.ts";

/** One server as it answered a single probe. */
interface CheckedServer {
  /** Host, port and path, without credentials and query. */
  readonly label: string;
  readonly engine: ServerEngine;
  /** Null when the probe failed. */
  readonly facts: ServerFacts | null;
  /** Why the probe failed. */
  readonly reason: string | null;
  /** What answers at the address instead, as it came; empty: nothing does. */
  readonly said: string;
  readonly noAnswer: string;
  /** Why the socket of ComfyUI does not open; null: it does, or there is none. */
  readonly socketReason: string | null;
}

interface Check {
  /** Workflows that ComfyUI servers may run. */
  readonly workflows: () => readonly Workflow[];
  /** Limit of each source and of each request to a server. */
  readonly timeoutMs: number;
}

/** Reads every source of the environment and probes each server once; problems are entries and lists that cannot be read. */
export async function checkServers(
  env: Parameters<typeof createSources>[0],
  check: Check,
): Promise<{ servers: CheckedServer[]; problems: NodeProblem[] }> {
  const { sources, problems } = createSources(env);
  const found = new Map<string, ListedServer>();
  const all = [...problems];
  for (const source of sources) {
    const refuse = (reason: string) => all.push({ what: source.name, reason });
    try {
      const servers = await source.read(AbortSignal.timeout(check.timeoutMs), refuse);
      for (const server of servers) found.set(server.url, found.get(server.url) ?? server);
    } catch (error) {
      refuse(toAppError(error).message);
    }
  }
  return {
    servers: await Promise.all([...found.values()].map((server) => checkServer(server, check))),
    problems: all,
  };
}

/** Of one server with all its nodes and models. */
const allMs = 20_000;
const tooSlow = `The server did not tell all of its nodes and models within ${allMs / 1_000} s.`;

async function checkServer(server: ListedServer, { workflows, timeoutMs }: Check): Promise<CheckedServer> {
  const timing = { probeTimeoutMs: timeoutMs, objectInfoMs: Number.POSITIVE_INFINITY };
  const settings = { timing, workflows, awaited: () => new Set<never>() };
  const probe = createProbe({ found: { ...server, sources: [] } }, settings);
  const known = {
    label: serverLabel(server.url),
    engine: server.engine,
    said: "",
    noAnswer: "",
    socketReason: null,
  };
  const limit = AbortSignal.timeout(allMs);
  try {
    const facts = await probe.read(limit);
    const socketReason = server.engine === "comfyui" ? await socketFault(server, timeoutMs) : null;
    return { ...known, facts, reason: null, socketReason };
  } catch (error) {
    return {
      ...known,
      facts: null,
      reason: limit.aborted ? tooSlow : toAppError(error).message,
      ...(await wordsAt(server, timeoutMs)),
    };
  }
}

const firstRoutes = { comfyui: "system_stats", iopaint: "api/v1/server-config" } as const;

/** The words of whatever answers at the first route of a probe: a proxy, a sign-in, another program, or why nothing does. */
async function wordsAt({ url, engine, headers, query }: ListedServer, timeoutMs: number) {
  try {
    const at = `${url}/${firstRoutes[engine]}${query ? `?${query}` : ""}`;
    return { said: wordsOf(await ask(at, { headers: { ...headers }, timeoutMs })), noAnswer: "" };
  } catch (error) {
    return { said: "", noAnswer: explain(error) };
  }
}
