import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";

/** Writes a workflow folder; a text is written as it is, anything else as JSON. */
export async function writeWorkflow(
  dir: string,
  files: { manifest: unknown; graph: unknown },
): Promise<void> {
  const textOf = (content: unknown) => (typeof content === "string" ? content : JSON.stringify(content));
  await mkdir(dir, { recursive: true });
  await writeFile(path.join(dir, "workflow.json"), textOf(files.manifest));
  await writeFile(path.join(dir, "graph.json"), textOf(files.graph));
}
