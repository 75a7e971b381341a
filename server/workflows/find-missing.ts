import { findInput, type ObjectInfoByClass } from "./object-info.ts";
import type { ModelPlace, Workflow } from "./workflow.ts";

/** What a server would need in order to run a workflow. */
export interface Missing {
  readonly classes: readonly string[];
  readonly models: readonly ModelPlace[];
  readonly vram: { readonly needGib: number; readonly hasGib: number } | null;
}

interface ServerAbilities {
  readonly objectInfo: ObjectInfoByClass;
  /** Of the server's first device. */
  readonly vramBytes: number;
  /** As the server names it: cuda, mps, cpu and so on. A CPU works slowly in the machine's memory, so its VRAM is not counted. */
  readonly deviceType: string;
}

const gibBytes = 2 ** 30;
/** Cards report up to a tenth less than the size by which they are sold. */
const nominalShare = 0.9;

function isThere({ class: name, input, file }: ModelPlace, objectInfo: ObjectInfoByClass): boolean {
  const info = objectInfo.get(name);
  if (!info) return true;
  const facts = findInput(info, input);
  return facts !== null && (facts.choices === null || facts.choices.includes(file));
}

/** Compares what a workflow needs with what a server has; models of a missing class are not listed as well. */
export function findMissing(
  { classes, models, vramGib }: Pick<Workflow, "classes" | "models" | "vramGib">,
  { objectInfo, vramBytes, deviceType }: ServerAbilities,
): Missing {
  const hasGib = vramBytes / gibBytes;
  const hasRoom = deviceType === "cpu" || hasGib >= vramGib * nominalShare;
  return {
    classes: classes.filter((name) => !objectInfo.get(name)),
    models: models.filter((model) => !isThere(model, objectInfo)),
    vram: hasRoom ? null : { needGib: vramGib, hasGib },
  };
}

export function isComplete({ classes, models, vram }: Missing): boolean {
  return classes.length === 0 && models.length === 0 && vram === null;
}
