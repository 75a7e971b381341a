/** Every kind of job the product knows; `server/engines.ts` has the pictures that each takes. */
export const jobKinds = [
  "outfit_change",
  "upscale",
  "inpaint",
  "remove_background",
  "text_to_image",
  "edit",
  "restore_faces",
  "segment",
  "adjust",
  "crop",
  "restore",
  "expand",
] as const;

export type JobKind = (typeof jobKinds)[number];

/** Every image provider; `server/providers/clients.ts` has their clients. */
export const providerNames = ["replicate", "fal", "google", "higgsfield", "kie", "fashn", "openai"] as const;

export type ProviderName = (typeof providerNames)[number];
