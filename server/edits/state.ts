import { z } from "zod";
import { AppError } from "../platform/index.ts";

const id = z.uuid();

/**
 * One mark of a mask as `app/edit/document/stored-marks.ts` writes it. The kinds of marks are the editor's: a kind that this
 * version does not know is stored like all others.
 */
const markSchema = z.looseObject({ mode: z.string().min(1).max(40) });

const versionSchema = z.looseObject({
  imageId: id,
  /** The version that it was made of; null for the picture that the edit began with. */
  parentId: id.nullable(),
});

/** The jobs of one click, and what became of their results. */
const runSchema = z.looseObject({
  jobIds: z.array(id).min(1).max(16),
  /** The version that they work on. */
  parentId: id,
  /** Number of the version's marks that their mask was made of. */
  spentMarks: z.number().int().min(0).max(100_000),
  seenIds: z.array(id).max(16),
  keptIds: z.array(id).max(16),
  acceptedId: id.nullable(),
  /** Accepted or discarded: the strip is closed. */
  isSettled: z.boolean(),
});

const viewSchema = z.looseObject({
  /** 1 where the whole picture is shown. */
  zoom: z.number().positive().max(10_000),
  /** The point of the picture in the middle of the stage, as parts of its width and height. */
  centreX: z.number().min(-100).max(100),
  centreY: z.number().min(-100).max(100),
});

export const editLimits = { versions: 1_000, runs: 200, masks: 100, stateBytes: 786_432 } as const;

/** What the editor shows of a picture. Members that a later version adds are kept. */
export const editStateSchema = z
  .looseObject({
    format: z.literal(1),
    /** A tree; the first is the picture that the edit began with, parents stand before their children. */
    versions: z.array(versionSchema).min(1).max(editLimits.versions),
    currentId: id,
    /** The marks of each version that has some. */
    marks: z.record(id, z.array(markSchema).max(100_000)),
    /** What was undone of a version's marks, the next of a redo last, on top of so many marks as they are stored. */
    undone: z
      .record(id, z.looseObject({ after: z.number().int().min(0), marks: z.array(markSchema).max(100_000) }))
      .optional(),
    /** Pictures of role `mask` that marks name. */
    maskIds: z.array(id).max(editLimits.masks),
    runs: z.array(runSchema).max(editLimits.runs),
    view: viewSchema.nullable(),
    mode: z.string().max(40).nullable(),
    /** The settings of each mode. */
    settings: z.record(z.string().max(40), z.json()),
  })
  .superRefine((state, context) => {
    const known = new Set<string>();
    for (const [place, { imageId, parentId }] of state.versions.entries()) {
      const isRoot = place === 0;
      if (known.has(imageId) || (isRoot ? parentId !== null : parentId === null || !known.has(parentId)))
        context.addIssue({ code: "custom", path: ["versions", place], message: "The versions are no tree." });
      known.add(imageId);
    }
    if (!known.has(state.currentId))
      context.addIssue({ code: "custom", path: ["currentId"], message: "The current version is none." });
  });

export type EditState = z.output<typeof editStateSchema>;

/** Throws `request_too_large` with the limit for a state that is too large to be stored. */
export function requireStorable(state: EditState): string {
  const text = JSON.stringify(state);
  const sizeBytes = Buffer.byteLength(text);
  const limitBytes = editLimits.stateBytes;
  if (sizeBytes > limitBytes)
    throw new AppError(
      "request_too_large",
      `This edit takes ${Math.ceil(sizeBytes / 1024)} kB, of at most ${limitBytes / 1024} kB.`,
      { details: { sizeBytes, limitBytes } },
    );
  return text;
}
