import type { ObjectInfo, ObjectInfoByClass } from "@atelier/server/workflows";
import { startComfySimulator, type ComfyOptions } from "../comfyui/index.ts";

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
