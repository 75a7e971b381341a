import * as z from "zod/mini";
import type { InputRole, JobKind } from "@atelier/server/engines";
import type { JobView } from "@atelier/server/jobs";
import { type Adjustments, adjustmentLimit, adjustments, mostAngle, neutral } from "@atelier/server/retouch";
import { type CropSettings, fromParams, noCrop } from "../crop/frame.ts";
import type { OpenEdit } from "../document/state.ts";
import { type ExpandSettings, fromParams as grownBy, noExpansion } from "../expand/frame.ts";
import { ratioNames } from "../frame/rect.ts";
import { noRun, runMembers, runOfJob, type RunSettings } from "./run.ts";

/** What references are given as, in their order. */
export const referenceRoles = ["reference", "reference2", "reference3"] as const satisfies InputRole[];

export const grounds = ["transparent", "colour", "picture", "prompt"] as const;

export interface BackgroundSettings extends RunSettings {
  readonly what: (typeof grounds)[number];
  /** As `#rrggbb`. */
  readonly colour: string;
  readonly pictureId: string | null;
  /** Of what is seen of the picture, from its left or upper end (0) to the other one (1). */
  readonly position: number;
  readonly prompt: string;
}

/** What each mode was set to. Plain values, so that an edit can be stored and opened elsewhere. */
export interface ModeSettings {
  readonly remove: RunSettings;
  readonly replace: RunSettings & { readonly prompt: string };
  readonly change: RunSettings & { readonly prompt: string; readonly referenceIds: readonly string[] };
  readonly expand: RunSettings & ExpandSettings;
  readonly background: BackgroundSettings;
  readonly enhance: RunSettings & { readonly what: "upscale" | "faces"; readonly scale: 2 | 4 };
  readonly adjust: Adjustments;
  readonly crop: CropSettings;
  readonly restore: { readonly from: "first" | "before" };
}

export type ModeId = keyof ModeSettings;
/** Modes whose run can be chosen. */
export type RunMode = "remove" | "replace" | "change" | "expand" | "background" | "enhance";

export interface ModeState {
  readonly mode: ModeId;
  readonly settings: ModeSettings;
}

const middle = 0.5;

/** The settings of a new edit. */
const begun: ModeSettings = {
  remove: noRun,
  replace: { ...noRun, prompt: "" },
  change: { ...noRun, prompt: "", referenceIds: [] },
  expand: { ...noRun, ...noExpansion, prompt: "" },
  background: {
    ...noRun,
    what: "transparent",
    colour: "#ffffff",
    pictureId: null,
    position: middle,
    prompt: "",
  },
  enhance: { ...noRun, what: "upscale", scale: 2 },
  adjust: neutral,
  crop: noCrop,
  restore: { from: "first" },
};

export const newModes: ModeState = { mode: "remove", settings: begun };

const id = z.nullable(z.uuid());
const px = z.number().check(z.nonnegative());
const wholePx = z.int().check(z.nonnegative());
const box = { width: px, height: px };
const adjustment = z.int().check(z.minimum(-adjustmentLimit), z.maximum(adjustmentLimit));
const shape = { ratio: z.enum(ratioNames), isTall: z.boolean() };

type Members<Settings> = { readonly [Member in keyof Settings]: z.ZodMiniType<Settings[Member]> };

/** What each member of each mode's settings may be. */
const members: { readonly [Mode in ModeId]: Members<ModeSettings[Mode]> } = {
  remove: runMembers,
  replace: { ...runMembers, prompt: z.string() },
  change: {
    ...runMembers,
    prompt: z.string(),
    referenceIds: z.array(z.uuid()).check(z.maxLength(referenceRoles.length)),
  },
  expand: {
    ...runMembers,
    ...shape,
    left: wholePx,
    top: wholePx,
    right: wholePx,
    bottom: wholePx,
    prompt: z.string(),
  },
  background: {
    ...runMembers,
    what: z.enum(grounds),
    colour: z.string().check(z.regex(/^#[\da-f]{6}$/)),
    pictureId: id,
    position: z.number().check(z.minimum(0), z.maximum(1)),
    prompt: z.string(),
  },
  enhance: { ...runMembers, what: z.enum(["upscale", "faces"]), scale: z.literal([2, 4]) },
  adjust: {
    light: adjustment,
    contrast: adjustment,
    saturation: adjustment,
    temperature: adjustment,
    sharpness: adjustment,
  },
  crop: {
    ...shape,
    turns: z.int().check(z.minimum(0), z.maximum(3)),
    mirror: z.boolean(),
    angle: z.number().check(z.minimum(-mostAngle), z.maximum(mostAngle)),
    frame: z.nullable(z.object({ ...box, x: z.number(), y: z.number() })),
    kept: z.nullable(z.object({ ...box, left: px, top: px })),
  },
  restore: { from: z.enum(["first", "before"]) },
};

// Safe cast: the keys of a record of modes.
const modeIds = Object.keys(members) as ModeId[];
const isMode = (mode: string | null): mode is ModeId => mode !== null && Object.hasOwn(members, mode);
const record = z.record(z.string(), z.unknown());
const membersOf = (stored: unknown) => record.safeParse(stored).data ?? {};

/** The stored settings of one mode; a member that is missing, or does not fit, is as in a new edit. */
export function readSettings<Mode extends ModeId>(mode: Mode, stored: unknown): ModeSettings[Mode] {
  const given = membersOf(stored);
  const fitting = Object.entries<z.ZodMiniType>(members[mode]).flatMap(([name, schema]) => {
    const { success, data } = schema.safeParse(given[name]);
    return success ? [[name, data]] : [];
  });
  // Safe cast: each member fits its schema, and the others are those of a new edit.
  return { ...begun[mode], ...Object.fromEntries(fitting) } as ModeSettings[Mode];
}

type Kept = Pick<OpenEdit, "mode" | "settings">;

/** The mode and settings that an edit was left with. */
export function keptModes({ mode, settings }: Kept): ModeState {
  const kept = modeIds.map((one) => [one, readSettings(one, settings[one])]);
  // Safe cast: an entry for each mode, with its settings.
  return { mode: isMode(mode) ? mode : newModes.mode, settings: Object.fromEntries(kept) as ModeSettings };
}

/** An edit with other modes; what a later version of the studio added stays in it. */
export function withModes(edit: OpenEdit, { mode, settings }: ModeState): OpenEdit {
  const merged = modeIds.map((one) => [one, { ...membersOf(edit.settings[one]), ...settings[one] }]);
  // Safe cast: settings are plain values.
  const kept = { ...edit.settings, ...Object.fromEntries(merged) } as OpenEdit["settings"];
  return { ...edit, mode, settings: kept };
}

type Source = Pick<JobView, "kind" | "params" | "inputs" | "workflow" | "model">;

const promptOf = ({ params }: Source) => (typeof params.prompt === "string" ? params.prompt : "");

function withMode<Mode extends ModeId>(mode: Mode, settings: Partial<ModeSettings[Mode]>): ModeState {
  return { mode, settings: { ...begun, [mode]: { ...begun[mode], ...settings } } };
}

const givenOf = ({ inputs }: Source, role: InputRole): string | null =>
  inputs.find((input) => input.role === role)?.imageId ?? null;

/** The ground that a cut-out was laid on. */
function groundOf(job: Source): Partial<BackgroundSettings> {
  const pictureId = givenOf(job, "background");
  const { colour, position } = job.params;
  const seen = z.object({ x: z.number() }).safeParse(position).data;
  if (pictureId !== null) return { what: "picture", pictureId, position: seen?.x ?? middle };
  return typeof colour === "string" ? { what: "colour", colour: colour.toLowerCase() } : {};
}

const modesByKind: Partial<Record<JobKind, (job: Source) => ModeState>> = {
  inpaint: (job) =>
    promptOf(job) === ""
      ? withMode("remove", runOfJob(job))
      : withMode("replace", { ...runOfJob(job), prompt: promptOf(job) }),
  edit: (job) =>
    withMode("change", {
      ...runOfJob(job),
      prompt: promptOf(job),
      referenceIds: referenceRoles.flatMap((role) => givenOf(job, role) ?? []),
    }),
  expand: (job) => withMode("expand", { ...runOfJob(job), ...grownBy(job.params), prompt: promptOf(job) }),
  upscale: (job) =>
    withMode("enhance", { ...runOfJob(job), what: "upscale", scale: job.params.scale === 4 ? 4 : 2 }),
  restore_faces: (job) => withMode("enhance", { ...runOfJob(job), what: "faces" }),
  remove_background: (job) => withMode("background", { ...runOfJob(job), ...groundOf(job) }),
  adjust: ({ params }) =>
    withMode("adjust", Object.fromEntries(adjustments.map((name) => [name, Number(params[name] ?? 0)]))),
  crop: ({ params }) => withMode("crop", fromParams(params)),
  restore: () => withMode("restore", {}),
};

/** The mode and settings by which a job was made; those of a new edit for other kinds. */
export function modesOf(job: Source): ModeState {
  return modesByKind[job.kind]?.(job) ?? newModes;
}

/** Of these the settings are about one picture, or there are none. */
const ofPicture: ReadonlySet<JobKind> = new Set(["crop", "restore"]);

/** The modes with that of a job as it ran, the others as they are; null where no mode makes such jobs. */
export function withJob(now: ModeState, job: Source): ModeState | null {
  if (modesByKind[job.kind] === undefined || ofPicture.has(job.kind)) return null;
  const { mode, settings } = modesOf(job);
  return { mode, settings: { ...now.settings, [mode]: settings[mode] } };
}
