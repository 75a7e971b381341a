import type { Page } from "@playwright/test";
import { expect } from "../test.ts";
import { dropFiles } from "./drop-files.ts";
import { type Sample, samplePath } from "./samples.ts";

async function bring(page: Page, frame: "Person" | "Garment", sample: Sample): Promise<void> {
  const region = page.getByRole("region", { name: frame });
  await dropFiles(region.getByRole("paragraph").first(), [samplePath(sample)]);
  await expect(region.getByRole("img")).toBeVisible();
  await expect(region.getByRole("progressbar")).toHaveCount(0);
}

/** Drops a person and a garment into the studio. */
export async function bringOutfit(page: Page): Promise<void> {
  await bring(page, "Person", "astronaut.png");
  await bring(page, "Garment", "garment_tee.jpg");
}
