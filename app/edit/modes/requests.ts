import type { OfferedWorkflow } from "../../client/queries.ts";
import { choiceOf } from "../../client/submit/job.ts";
import { type Shape, shownRatio } from "../frame/rect.ts";
import { type BackgroundSettings, type ModeSettings, referenceRoles } from "./mode-settings.ts";

/** What stands out of a picture, on the ground that was chosen. */
export function groundRequest(image: string, { what, colour, pictureId, position }: BackgroundSettings) {
  const isPicture = what === "picture";
  return {
    kind: "remove_background",
    inputs: { image, ...(isPicture && pictureId !== null ? { background: pictureId } : {}) },
    params: {
      ...(what === "colour" ? { colour } : {}),
      ...(isPicture ? { position: { x: position, y: position } } : {}),
    },
  } as const;
}

/** A picture as its prompt says. Without a workflow the server chooses. */
export function changeRequest(
  image: string,
  { prompt, referenceIds }: Pick<ModeSettings["change"], "prompt" | "referenceIds">,
  workflow: OfferedWorkflow | undefined,
) {
  const references = referenceIds.map((id, at) => [referenceRoles[at] ?? "reference", id] as const);
  return {
    kind: "edit",
    ...(workflow === undefined ? {} : choiceOf(workflow)),
    params: { prompt: prompt.trim() },
    inputs: { image, ...Object.fromEntries(references) },
  } as const;
}

/** A picture with more pixels. Without a workflow the server chooses. */
export function upscaleRequest(image: string, scale: 2 | 4, workflow: OfferedWorkflow | undefined) {
  return {
    kind: "upscale",
    ...(workflow === undefined ? {} : choiceOf(workflow)),
    params: { scale },
    inputs: { image },
  } as const;
}

export function facesRequest(image: string) {
  return { kind: "restore_faces", inputs: { image } } as const;
}

/** The largest part of a shape, from the middle of a picture of any size. */
export function cropRequest(image: string, shape: Shape) {
  return { kind: "crop", params: { shape: shownRatio(shape) }, inputs: { image } } as const;
}

/** A picture of any size that grows to a shape. */
export function growRequest(image: string, { prompt, ...shape }: Shape & { readonly prompt: string }) {
  const text = prompt.trim();
  return {
    kind: "expand",
    params: { shape: shownRatio(shape), ...(text === "" ? {} : { prompt: text }) },
    inputs: { image },
  } as const;
}

/** Without settings it is enough for a price and a time. */
export function adjustRequest(image: string, settings?: ModeSettings["adjust"]) {
  return {
    kind: "adjust",
    inputs: { image },
    ...(settings === undefined ? {} : { params: settings }),
  } as const;
}
