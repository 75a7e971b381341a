import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { sql } from "drizzle-orm";
import {
  appRouter,
  createHttpApp,
  handleTrpc,
  healthResponse,
  metricsResponse,
  readyResponse,
} from "@atelier/server/api";
import { backUp } from "@atelier/server/backup";
import type { Services } from "@atelier/server/services";
import { openExport } from "@atelier/server/users";
import { testOrigin } from "../services/index.ts";
import { readZip } from "../zip/index.ts";

/** Every row of every table as JSON, by `table.column`. */
export async function readColumns({ db }: Services): Promise<Map<string, string>> {
  const tables = await db.execute<{ name: string }>(
    sql`select table_name as name from information_schema.tables where table_schema = 'public'`,
  );
  const texts = new Map<string, string>();
  for (const { name } of tables) {
    const rows = await db.execute<Record<string, unknown>>(sql`select * from ${sql.identifier(name)}`);
    for (const row of rows)
      for (const [column, value] of Object.entries(row)) {
        const at = `${name}.${column}`;
        texts.set(at, `${texts.get(at) ?? ""}\n${JSON.stringify(value)}`);
      }
  }
  return texts;
}

/** One answer, by what was asked. */
export type Answers = Map<string, string>;

/** The answers of every query of tRPC, to each input that one of them may take; refusals are answers too. */
export async function readTrpc(
  services: Services,
  headers: Headers,
  ids: readonly string[],
): Promise<Answers> {
  const answers: Answers = new Map();
  const inputs = [undefined, {}, ...ids.flatMap((id) => [{ id }, { jobId: id }, { ids: [id] }])];
  // Safe: at run time the procedures of all routers stand in one record, by their full names.
  const procedures = appRouter._def.procedures as unknown as Record<
    string,
    { readonly _def: { readonly type: string } }
  >;
  for (const [name, { _def: definition }] of Object.entries(procedures)) {
    if (definition.type !== "query") continue;
    for (const json of inputs) {
      const input = encodeURIComponent(JSON.stringify({ json }));
      const request = new Request(`${testOrigin}/api/trpc/${name}?input=${input}`, { headers });
      const response = await handleTrpc(services, request);
      answers.set(`${response.status} ${name} ${JSON.stringify(json)}`, await response.text());
    }
  }
  return answers;
}

/** The answers of every GET of the HTTP API that ends, of the health checks and of `/metrics`. */
export async function readHttp(
  services: Services,
  headers: Headers,
  ids: readonly string[],
): Promise<Answers> {
  const answers: Answers = new Map();
  const app = createHttpApp(services);
  const keep = async (name: string, response: Response) => {
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
    if (isStream) await response.body?.cancel();
    else answers.set(`${response.status} ${name}`, await response.text());
  };
  const ask = (at: string) => new Request(`${testOrigin}${at}`, { headers });
  const document = await (await app.fetch(ask("/api/v1/openapi.json"))).json();
  for (const [route, methods] of Object.entries<object>(document.paths)) {
    if (!("get" in methods)) continue;
    for (const id of route.includes("{") ? ids : [""]) {
      const at = `/api/v1${route.replaceAll(/\{\w+\}/g, id).replace(/^\/api\/v1/, "")}`;
      await keep(at, await app.fetch(ask(at)));
    }
  }
  await keep("/metrics", await metricsResponse(services, ask("/metrics")));
  await keep("/health", await healthResponse(services));
  await keep("/ready", await readyResponse(services));
  return answers;
}

/** The text files of the export of a user's data. */
export async function readExport(services: Services, userId: string): Promise<string> {
  const { signal } = new AbortController();
  const isAllowed = () => Promise.resolve(true);
  const files = readZip(await buffer(await openExport(services, { userId, signal, isAllowed })));
  return [...files]
    .filter(([name]) => name.endsWith(".json"))
    .map(([, bytes]) => bytes.toString())
    .join("\n");
}

/** The files of a backup that are no pictures, unpacked, by their names. */
export async function readBackup({ env, disk }: Services): Promise<Map<string, string>> {
  const parent = await mkdtemp(path.join(os.tmpdir(), "atelier-secrets-"));
  try {
    const folder = path.join(parent, "backup");
    const { signal } = new AbortController();
    await backUp({
      databaseUrl: env.DATABASE_URL ?? "",
      disk,
      folder,
      signal,
      onProgress: () => undefined,
    });
    const names = (await readdir(folder, { recursive: true })).filter((name) => /\.(gz|jsonl?)$/.test(name));
    const texts = names.map(async (name) => {
      const bytes = await readFile(path.join(folder, name));
      return [name, (name.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString()] as const;
    });
    return new Map(await Promise.all(texts));
  } finally {
    await rm(parent, { recursive: true, force: true });
  }
}
