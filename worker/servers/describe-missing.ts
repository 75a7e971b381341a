import type { Missing } from "@atelier/server/workflows";

/** What a server lacks, one line each, for the admin. */
export function describeMissing({ classes, models, vram }: Missing): string[] {
  return [
    ...classes.map((name) => `node ${name}`),
    ...models.map((model) => `model ${model.file} (${model.class}.${model.input})`),
    ...(vram ? [`${vram.needGib} GiB of VRAM (it has ${vram.hasGib.toFixed(1)})`] : []),
  ];
}
