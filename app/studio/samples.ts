import type { Slot } from "./studio-store.ts";

export interface Sample {
  readonly key: "astronaut" | "tee" | "dress" | "hoodie" | "longSleeve";
  readonly file: string;
}

/** Pictures under public/samples that a newcomer can try. */
export const samples: Record<Slot, readonly Sample[]> = {
  person: [{ key: "astronaut", file: "astronaut.png" }],
  garment: [
    { key: "tee", file: "garment_tee.jpg" },
    { key: "longSleeve", file: "garment_long_sleeve.jpg" },
    { key: "hoodie", file: "garment_hoodie.jpg" },
    { key: "dress", file: "garment_dress.jpg" },
  ],
};

/** A sample as a file, so that it takes the same way as anybody's own picture. */
export async function readSample(sample: Sample): Promise<File> {
  const response = await fetch(`/samples/${sample.file}`);
  const blob = await response.blob();
  return new File([blob], sample.file, { type: blob.type });
}
