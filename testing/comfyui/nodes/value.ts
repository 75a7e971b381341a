import type { Frame } from "../pictures.ts";

export interface LatentValue {
  readonly kind: "latent";
  readonly widthPx: number;
  readonly heightPx: number;
  readonly count: number;
  /** What was encoded or painted; null for an empty one. */
  readonly pixels: readonly Frame[] | null;
  /** 255 where the sampler may paint; null is everywhere. */
  readonly mask: Frame | null;
}

/** What goes over a link. Models, text encoders and conditionings are told apart by their signatures only. */
export type Value =
  | { readonly kind: "image"; readonly frames: readonly Frame[] }
  | { readonly kind: "mask"; readonly frames: readonly Frame[] }
  | LatentValue
  | { readonly kind: "sigmas"; readonly steps: number; readonly denoise: number }
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "model"; readonly file: string }
  | { readonly kind: "opaque"; readonly type: string };

export function image(frames: readonly Frame[]): Value {
  return { kind: "image", frames };
}

export function mask(frames: readonly Frame[]): Value {
  return { kind: "mask", frames };
}
