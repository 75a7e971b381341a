import path from "node:path";

export type Sample =
  | "astronaut.png"
  | "chelsea.png"
  | "coffee.png"
  | "rocket.jpg"
  | "garment_tee.jpg"
  | "garment_hoodie.jpg";

/** Where a sample picture lies on the disk. */
export function samplePath(sample: Sample): string {
  return path.join(import.meta.dirname, "../../public/samples", sample);
}
