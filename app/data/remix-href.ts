import type { JobView } from "@atelier/server/jobs";

/** Where a picture of a job is made anew: the page for its kind, filled in as it was. null where the page has nothing to fill in. */
export function remixHref(
  imageId: string,
  { kind, inputs, params }: Pick<JobView, "kind" | "inputs" | "params">,
): string | null {
  switch (kind) {
    case "text_to_image":
      return `/create?remix=${imageId}`;
    case "outfit_change":
      return `/?remix=${imageId}`;
    case "remove_background":
    case "restore_faces":
      return null;
    case "edit":
    case "inpaint":
    case "upscale": {
      const isBare = kind === "inpaint" && (params.prompt ?? "") === "";
      if (isBare) return null;
      const source = inputs.find(({ role }) => role === "image");
      return source === undefined ? null : `/edit/${source.imageId}?remix=${imageId}`;
    }
  }
}
