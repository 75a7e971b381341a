/** Every stage that a run on a ComfyUI server reports; the message catalogue `stages` names each. */
export const comfyuiStages = ["preparing", "loading", "sampling", "tile", "decoding", "fetching"] as const;

export type ComfyuiStage = (typeof comfyuiStages)[number];

const stageByClass: readonly (readonly [RegExp, ComfyuiStage])[] = [
  [/^KSampler|^SamplerCustom/, "sampling"],
  [/UpscaleWithModel/, "tile"],
  [/VAEDecode|SaveImage|PreviewImage/, "decoding"],
  [/Loader/, "loading"],
];

/** The stage that a node class stands for. */
export function stageOf(nodeClass: string): ComfyuiStage {
  return stageByClass.find(([pattern]) => pattern.test(nodeClass))?.[1] ?? "preparing";
}
