import { schema } from "@atelier/server/db";
import type { Need } from "@atelier/server/engines";
import type { Services } from "@atelier/server/services";

const gib = 1024 ** 3;

export interface TestServer {
  readonly nodeId: string;
  readonly url: string;
  readonly needs: readonly Need[];
  readonly vramGib?: number;
  readonly state?: "healthy" | "down";
}

/** Adds the row of a server that a node sees; nothing listens there. */
export async function addServer(
  { db }: Pick<Services, "db">,
  { nodeId, url, needs, vramGib = 24, state = "healthy" }: TestServer,
): Promise<void> {
  await db.insert(schema.engineServers).values({
    nodeId,
    url,
    engine: "comfyui",
    label: url.replace("http://", ""),
    state,
    device: "cuda",
    vramTotalBytes: vramGib * gib,
    needs: [...needs],
    missing: {},
    sources: ["test"],
  });
}
