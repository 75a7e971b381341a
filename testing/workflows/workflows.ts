import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import type { OfferedWorkflow } from "@atelier/server/scheduling";
import type { ObjectInfo, ObjectInfoByClass } from "@atelier/server/workflows";
import { type ComfyOptions, startComfySimulator } from "../comfyui/index.ts";

/** The node classes of a simulated server; by default it has every model of the built-in workflows. */
export async function readSimulatedClasses(options: ComfyOptions = {}): Promise<ObjectInfoByClass> {
  const simulator = await startComfySimulator(options);
  try {
    const answer = await fetch(`${simulator.url}/object_info`);
    const classes = (await answer.json()) as Record<string, ObjectInfo>;
    return new Map(Object.entries(classes));
  } finally {
    await simulator.close();
  }
}

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

/** The two files of a small workflow that is right in everything: a picture blurred by a number of steps. */
export function sampleFiles() {
  return {
    manifest: {
      title: "Blur",
      description: "Blurs a picture.",
      kind: "edit",
      rank: 5,
      vramGib: 0,
      params: {
        steps: { type: "integer", min: 1, max: 31, default: 3, to: ["2.blur_radius"] },
      } as Record<string, unknown>,
      inputs: { image: { to: ["1.image"] } } as Record<string, unknown>,
      models: [] as string[],
      prefix: ["3.filename_prefix"],
      outputs: ["3"],
    },
    graph: {
      "1": { class_type: "LoadImage", inputs: { image: "" } },
      "2": { class_type: "ImageBlur", inputs: { image: ["1", 0], blur_radius: 3, sigma: 1 } },
      "3": { class_type: "SaveImage", inputs: { images: ["2", 0], filename_prefix: "atelier" } },
    } as Record<string, { class_type: string; inputs: Record<string, unknown> }>,
  };
}

/** A live workflow as the pages are offered it: it takes a prompt, and a picture to edit. */
export function offeredWorkflow(changes: Partial<OfferedWorkflow> = {}): OfferedWorkflow {
  return {
    name: "prompt",
    title: "Prompt",
    description: "",
    kind: "edit",
    rank: 1,
    vramGib: 8,
    isLive: true,
    models: [],
    cloud: null,
    missing: [],
    params: { prompt: { type: "text", required: true } },
    inputs: [{ role: "image", required: true }],
    ...changes,
  };
}
