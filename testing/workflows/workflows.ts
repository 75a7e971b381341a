/** The two files of a small workflow that is right in everything: a picture blurred by a number of steps. */
export function sampleFiles() {
  return {
    manifest: {
      title: "Blur",
      description: "Blurs a picture.",
      kind: "edit",
      rank: 5,
      vramGib: 0,
      params: {
        steps: { type: "integer", min: 1, max: 31, default: 3, to: ["2.blur_radius"] },
      } as Record<string, unknown>,
      inputs: { image: { to: ["1.image"] } } as Record<string, unknown>,
      models: [] as string[],
      prefix: ["3.filename_prefix"],
      outputs: ["3"],
    },
    graph: {
      "1": { class_type: "LoadImage", inputs: { image: "" } },
      "2": { class_type: "ImageBlur", inputs: { image: ["1", 0], blur_radius: 3, sigma: 1 } },
      "3": { class_type: "SaveImage", inputs: { images: ["2", 0], filename_prefix: "atelier" } },
    } as Record<string, { class_type: string; inputs: Record<string, unknown> }>,
  };
}
