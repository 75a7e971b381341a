import type { EngineName } from "../engines.ts";
import type { JobKind } from "./kinds.ts";

/** Engines by how well they do a kind, the best first. */
const byKind: Record<JobKind, readonly EngineName[]> = {
  text_to_image: ["comfyui"],
  edit: ["comfyui"],
  outfit_change: ["comfyui", "local"],
  inpaint: ["iopaint", "local", "comfyui"],
  upscale: ["comfyui", "iopaint", "local"],
  remove_background: ["iopaint", "local"],
  restore_faces: ["iopaint"],
};

/** What a request says that not every engine can follow. */
export interface Wish {
  readonly kind: JobKind;
  readonly params: Readonly<Record<string, unknown>>;
  readonly roles: ReadonlySet<string>;
}

/** Engines that can follow the wish in general, the best first; which can at the moment is the pool's to say. */
export function enginesFor(wish: Wish): readonly EngineName[] {
  return byKind[wish.kind].filter((engine) => engine === "comfyui" || canFollow(engine, wish));
}

/** Engines without workflows take no words, and of the optional pictures none. */
function canFollow(engine: "iopaint" | "local", { kind, params, roles }: Wish): boolean {
  if (params["prompt"] !== undefined && params["prompt"] !== "") return false;
  if (kind === "outfit_change" && roles.has("mask")) return false;
  return !(engine === "local" && kind === "upscale" && params["scale"] !== 2);
}
