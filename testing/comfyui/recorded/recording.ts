import sharp from "sharp";
import type { JsonObject } from "../json.ts";

type Nodes = Record<string, { class_type?: string; inputs: JsonObject }>;

/** The graph of the recording's first job, with nodes replaced. */
export function recordedGraph(replaced: Nodes = {}): Nodes {
  return {
    "1": { class_type: "LoadImage", inputs: { image: "a.png" } },
    "2": {
      class_type: "ImageScale",
      inputs: { image: ["1", 0], upscale_method: "lanczos", width: 128, height: 96, crop: "disabled" },
    },
    "3": { class_type: "ImageBlur", inputs: { image: ["2", 0], blur_radius: 3, sigma: 1 } },
    "4": { class_type: "SaveImage", inputs: { images: ["3", 0], filename_prefix: "job1/out" } },
    "5": { class_type: "PreviewImage", inputs: { images: ["3", 0] } },
    ...replaced,
  };
}

/** A graph with a node in the middle that takes its time. */
export function slowGraph(color: number): Nodes {
  const blur = { blur_radius: 31, sigma: 10 };
  return {
    "1": { class_type: "EmptyImage", inputs: { width: 64, height: 64, batch_size: 1, color } },
    "2": { class_type: "ImageBlur", inputs: { image: ["1", 0], ...blur } },
    "3": { class_type: "ImageBlur", inputs: { image: ["2", 0], ...blur } },
    "20": { class_type: "PreviewImage", inputs: { images: ["3", 0] } },
  };
}

/** Three pictures over the socket. */
export function socketGraph(color: number): Nodes {
  return {
    "1": { class_type: "EmptyImage", inputs: { width: 64, height: 64, batch_size: 3, color } },
    save: { class_type: "SaveImageWebsocket", inputs: { images: ["1", 0] } },
  };
}

/** A PNG of one colour. */
export function plainPng(background: string, { width = 64, height = 48 } = {}): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 3, background } })
    .png()
    .toBuffer();
}
