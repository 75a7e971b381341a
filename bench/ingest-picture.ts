import { readFileSync } from "node:fs";
import { ingest } from "@atelier/server/images";
import type { Stage } from "./stage.ts";

/** A real picture of the stage's owner, for workers that read it; its id. */
export async function ingestPicture({ services, ownerId }: Stage): Promise<string> {
  const bytes = readFileSync("public/samples/astronaut.png");
  return (await ingest(services, { ownerId, role: "upload", bytes, name: "bench.png" })).id;
}
