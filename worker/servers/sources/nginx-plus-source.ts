import { AppError, issuesOf } from "@atelier/server/platform";
import { z } from "zod";
import { parseAddress, type ListAddress } from "../address.ts";
import { fetchJson } from "./fetch-json.ts";
import { parseEntry, readEntries } from "./read-entries.ts";
import type { ListedServer, Source } from "./source.ts";

const peerSchema = z.object({
  server: z.string().min(1),
  backup: z.boolean().default(false),
  weight: z.number().positive().catch(1),
  state: z.string(),
});
const upstreamSchema = z.object({ peers: z.array(z.unknown()) });

/** What nginx itself keeps from its clients; its other states are its own opinion, and each server is probed anyway. */
const drainedStates: readonly string[] = ["down", "draining"];

/** The peers of one upstream from the API of NGINX Plus (`/api/9/http/upstreams/NAME`). */
export function createNginxPlusSource(address: ListAddress): Source {
  return {
    name: `nginx-plus:${address.url}`,
    async read(signal, refuse) {
      const fetched = await fetchJson(address, { etag: null, signal });
      const parsed = upstreamSchema.safeParse(fetched?.body);
      if (!parsed.success)
        throw new AppError("proxy_error", "The answer is not that of an upstream of NGINX Plus.", {
          details: { issues: issuesOf(parsed.error) },
        });
      return readEntries(parsed.data.peers, readPeer, refuse).flat();
    },
  };
}

/** Sockets of the file system are nobody's address. */
function readPeer(entry: unknown): ListedServer[] {
  const { server, weight, backup, state } = parseEntry(peerSchema, entry);
  if (server.startsWith("unix:")) return [];
  const isDrained = drainedStates.includes(state);
  return [{ ...parseAddress(server), engine: "comfyui", weight, isBackup: backup, isDrained }];
}
