import type { BatchInput } from "@atelier/server/batches";
import type { SubmitInput } from "@atelier/server/jobs";
import { isNeutral } from "@atelier/server/retouch";
import type { OfferedWorkflow } from "../../client/queries.ts";
import { fixedRatios } from "../frame/rect.ts";
import { type ModeSettings, readSettings } from "../modes/mode-settings.ts";
import {
  adjustRequest,
  changeRequest,
  cropRequest,
  facesRequest,
  groundRequest,
  growRequest,
  upscaleRequest,
} from "../modes/requests.ts";

/** Modes of the editor that are about a whole picture whatever its size, so that many can have the same. */
export const stepModes = ["background", "change", "enhance", "adjust", "crop", "expand"] as const;
export type StepMode = (typeof stepModes)[number];

/** What is done to each picture, one step on the result of the other. Its id tells it apart on this page, wherever it moves. */
export type Step = {
  readonly [Mode in StepMode]: {
    readonly id: number;
    readonly mode: Mode;
    readonly settings: ModeSettings[Mode];
  };
}[StepMode];

export type Recipe = readonly Step[];

/** The first, and what a batch lets follow at one place. */
export const mostSteps = 4;

const isStepMode = (value: unknown): value is StepMode => stepModes.some((mode) => mode === value);

let made = 0;

/** A new step of a mode with what is stored of its settings; what does not fit is as in a new one. */
export function stepOf(mode: StepMode, stored?: unknown): Step {
  // Safe cast: the settings of this mode.
  return plain({ id: (made += 1), mode, settings: readSettings(mode, stored) } as Step);
}

/** The recipe that a text of JSON holds; one step at least. */
export function readRecipe(text: string | null): Recipe {
  const steps = listOf(text).flatMap((entry) => {
    const { mode, settings }: { mode?: unknown; settings?: unknown } = Object(entry);
    return isStepMode(mode) ? [stepOf(mode, settings)] : [];
  });
  return steps.length === 0 ? [stepOf("background")] : steps.slice(0, mostSteps);
}

function listOf(text: string | null): readonly unknown[] {
  try {
    const stored: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(stored) ? stored : [];
  } catch {
    return [];
  }
}

/** Without what is made or drawn on one picture: the selection that a prompt fills, a frame or margins that have no shape. */
function plain(step: Step): Step {
  if (step.mode === "background" && step.settings.what === "prompt")
    return { ...step, settings: { ...step.settings, what: "transparent" } };
  if (step.mode !== "crop" && step.mode !== "expand") return step;
  const { ratio } = step.settings;
  if (fixedRatios.some((name) => name === ratio)) return step;
  // Safe cast: only the shape is another one.
  return { ...step, settings: { ...step.settings, ratio: "1:1" } } as Step;
}

/** The workflows that a recipe may name; undefined: the server chooses. */
export interface Offers {
  /** For so many references. */
  readonly changeWith: (references: number) => OfferedWorkflow | undefined;
  readonly byFour: { readonly isPossible: boolean; readonly workflow: OfferedWorkflow | undefined };
}

/** What is missing in the settings of a step, whatever can run; null when nothing is. */
export function lackOf(step: Step): "prompt" | "picture" | "change" | null {
  if (step.mode === "change") return step.settings.prompt.trim() === "" ? "prompt" : null;
  if (step.mode === "adjust") return isNeutral(step.settings) ? "change" : null;
  if (step.mode !== "background") return null;
  return step.settings.what === "picture" && step.settings.pictureId === null ? "picture" : null;
}

interface Making {
  readonly offers: Offers;
  /** Without the values of sliders, on which neither price nor time depends. */
  readonly isQuote: boolean;
}

function requestOf(step: Step, image: string, { offers, isQuote }: Making): SubmitInput {
  switch (step.mode) {
    case "background":
      return groundRequest(image, step.settings);
    case "change":
      return changeRequest(image, step.settings, offers.changeWith(step.settings.referenceIds.length));
    case "enhance": {
      if (step.settings.what === "faces") return facesRequest(image);
      // As in the editor: by 2 where no engine is left that upscales by 4.
      const { isPossible, workflow } = offers.byFour;
      return step.settings.scale === 4 && isPossible
        ? upscaleRequest(image, 4, workflow)
        : upscaleRequest(image, 2, undefined);
    }
    case "adjust":
      return adjustRequest(image, isQuote ? undefined : step.settings);
    case "crop":
      return cropRequest(image, step.settings);
    case "expand":
      return growRequest(image, step.settings);
  }
}

/** A step that follows: its picture is the result of the one before. */
function following(step: Step, making: Making): Readonly<Record<string, unknown>> {
  const { inputs, ...request } = requestOf(step, "", making);
  const { image: _, ...others } = inputs as Readonly<Record<string, unknown>>;
  return { ...request, inputs: others };
}

interface Ordered extends Making {
  readonly imageIds: readonly string[];
  readonly recipe: Recipe;
  readonly title: string;
}

/** All pictures by one recipe as one batch; null while a picture or a setting is missing. */
export function severalRequest({ imageIds, recipe, title, ...making }: Ordered): BatchInput | null {
  const [first, ...others] = recipe;
  if (first === undefined || imageIds.length === 0 || recipe.some((step) => lackOf(step) !== null))
    return null;
  const steps = others.map((step) => following(step, making));
  return {
    title,
    jobs: imageIds.map((id) => ({
      ...requestOf(first, id, making),
      ...(steps.length === 0 ? {} : { steps }),
    })),
  };
}
