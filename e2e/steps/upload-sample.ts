import { readFile } from "node:fs/promises";
import type { Page } from "@playwright/test";
import sharp from "sharp";
import { expect } from "../test.ts";
import { type Sample, samplePath } from "./samples.ts";
import { sameSite } from "./same-site.ts";

/** Puts a sample, or a copy of some pixels' width, into the gallery without the screen; returns the picture's id. */
export async function uploadSample(page: Page, sample: Sample, width?: number): Promise<string> {
  const mimeType = sample.endsWith(".png") ? "image/png" : "image/jpeg";
  const whole = await readFile(samplePath(sample));
  const buffer = width === undefined ? whole : await sharp(whole).resize({ width }).toBuffer();
  const file = { name: sample, mimeType, buffer };
  const answer = await page.request.post("/api/v1/uploads", { multipart: { file }, ...sameSite() });
  expect(answer.status(), await answer.text()).toBe(201);
  const { id }: { id: string } = await answer.json();
  return id;
}
