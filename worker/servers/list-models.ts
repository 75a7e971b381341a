import type { ObjectInfoByClass, Workflow } from "@atelier/server/workflows";
import { findInput } from "@atelier/server/workflows";

/** The model files that a server offers at the inputs where the workflows name theirs; sorted, each once. */
export function listModels(workflows: readonly Workflow[], objectInfo: ObjectInfoByClass): string[] {
  const places = workflows.flatMap(({ models }) => models);
  const files = places.flatMap(({ class: name, input }) => {
    const info = objectInfo.get(name);
    return (info && findInput(info, input)?.choices) ?? [];
  });
  return [...new Set(files)].toSorted();
}
