import { AppError, issuesOf } from "@atelier/server/platform";
import { z } from "zod";
import { parseAddress, type ListAddress, type ServerAddress } from "../address.ts";
import { fetchJson } from "./fetch-json.ts";
import { parseEntry, readEntries } from "./read-entries.ts";
import type { ListedServer, Source } from "./source.ts";

const serverSchema = z.object({
  url: z.string().min(1),
  engine: z.enum(["comfyui", "iopaint"]).default("comfyui"),
  weight: z.number().positive().default(1),
  backup: z.boolean().default(false),
  drain: z.boolean().default(false),
});

const listSchema = z.object({ version: z.literal(1).optional(), servers: z.array(z.unknown()) });

/** A document `{"version":1,"servers":[{"url":"http://…","weight":1,"drain":false}]}`, asked for by its ETag. */
export function createHttpJsonSource(address: ListAddress): Source {
  let etag: string | null = null;
  let last: readonly ListedServer[] = [];
  return {
    name: address.url,
    async read(signal, refuse) {
      const fetched = await fetchJson(address, { etag, signal });
      if (!fetched) return last;
      last = readEntries(serversIn(fetched.body), (entry) => toListed(entry, address), refuse);
      // Kept only with a list that was understood, else a broken one would be "not modified" for ever.
      etag = fetched.etag;
      return last;
    },
  };
}

function serversIn(body: unknown): readonly unknown[] {
  const parsed = listSchema.safeParse(body);
  if (!parsed.success)
    throw new AppError("proxy_error", "The list of servers has another form.", {
      details: { issues: issuesOf(parsed.error) },
    });
  return parsed.data.servers;
}

function toListed(entry: unknown, list: ServerAddress): ListedServer {
  const { url, engine, weight, backup, drain } = parseEntry(
    serverSchema,
    typeof entry === "string" ? { url: entry } : entry,
  );
  const address = withCredentialsOf(list, parseAddress(url, list.url));
  return { ...address, engine, weight, isBackup: backup, isDrained: drain };
}

/** An entry without credentials of its own has those of its list when it is at the same place, and nowhere else. */
function withCredentialsOf(list: ServerAddress, server: ServerAddress): ServerAddress {
  const isBare = Object.keys(server.headers).length === 0;
  if (!isBare || new URL(server.url).origin !== new URL(list.url).origin) return server;
  return { ...server, headers: list.headers };
}
