/** Every kind of job the product knows, with the images it takes by role. */
export const kindInputs = {
  outfit_change: ["person", "garment"],
  upscale: ["image"],
  inpaint: ["image", "mask"],
  remove_background: ["image"],
  text_to_image: [],
} as const satisfies Record<string, readonly InputRole[]>;

export type InputRole = "person" | "garment" | "image" | "mask";
export type JobKind = keyof typeof kindInputs;

export const jobKinds = Object.keys(kindInputs) as JobKind[];
