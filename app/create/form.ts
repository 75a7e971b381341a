"use client";
import { useSyncExternalStore } from "react";
import type { pictureLimits } from "@atelier/server/platform";
import type { mostStyles as allowedStyles } from "@atelier/server/presets";
import { mostReferences, type PictureRole, pictureRoles, type Reference } from "../client/references.ts";
import { type Lora, readLoras } from "../jobs/params.ts";
import { draftKeys, readDraft, writeDraft } from "../client/leaving.ts";
import { createListeners } from "../ui/listeners.ts";

export const aspects = ["1:1", "4:3", "3:4", "3:2", "2:3", "16:9", "9:16"] as const;
export type Aspect = (typeof aspects)[number];

type NumberSetting = "steps" | "guidance" | `${PictureRole}Strength`;

/** Settings whose values servers list. */
export const listedSettings = ["checkpoint", "sampler", "scheduler"] as const;
export type ListedSetting = (typeof listedSettings)[number];
export const isListed = (name: string): name is ListedSetting => listedSettings.some((one) => one === name);

/** Settings that the user changed for one workflow; a missing setting has the workflow's default. */
export type SettingOverrides = Readonly<
  Partial<Record<NumberSetting, number>> & Partial<Record<ListedSetting, string>>
>;

/** One prompt, a list of them, or a table of pictures that differ in one or two settings. */
const modes = ["one", "list", "grid"] as const;
const axisParams = [
  "part",
  "seed",
  "steps",
  "guidance",
  "size",
  "workflow",
  "style",
  "lora",
  "picture",
  ...listedSettings,
] as const;

/** What the rows or columns of a grid are: a setting, and its values as they are typed. */
export interface Axis {
  readonly param: (typeof axisParams)[number];
  readonly text: string;
}

/** The values of the form; they survive a reload. */
export interface CreateForm {
  readonly mode: (typeof modes)[number];
  readonly prompt: string;
  readonly negativePrompt: string;
  /** null: the first workflow that can run now. */
  readonly workflow: string | null;
  /** null: the user typed `widthPx` and `heightPx`. */
  readonly aspect: Aspect | null;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly count: number;
  /** null: random for each picture. */
  readonly seed: number | null;
  /** Names of the styles that are put around the prompt. */
  readonly styles: readonly string[];
  /** For workflows that take some. */
  readonly loras: readonly Lora[];
  /** In the order in which they are counted. */
  readonly references: readonly Reference[];
  /** The columns of a grid, and its rows; without a value there is none. */
  readonly xAxis: Axis;
  readonly yAxis: Axis;
  /** The seed of all cells of a grid, drawn for an order that was not answered yet; any change of the form forgets it. */
  readonly gridSeed: number | null;
  /** By workflow name. */
  readonly settings: Readonly<Record<string, SettingOverrides>>;
}

type Limits = typeof pictureLimits;

/** As many as a batch has at most. */
export const maxJobs: Limits["batchPictures"] = 200;
export const maxPictures = 8;
/** Of a prompt, and of a negative one. */
export const maxPromptCharacters: Limits["promptCharacters"] = 4_000;

/** Of a list of prompts. */
export const maxListCharacters = 200_000;
/** As many as a request may have. */
export const mostStyles: typeof allowedStyles = 8;

export const emptyForm: CreateForm = {
  mode: "one",
  prompt: "",
  negativePrompt: "",
  workflow: null,
  aspect: "1:1",
  widthPx: 1_024,
  heightPx: 1_024,
  count: 1,
  seed: null,
  styles: [],
  loras: [],
  references: [],
  xAxis: { param: "part", text: "" },
  yAxis: { param: "steps", text: "" },
  gridSeed: null,
  settings: {},
};

const storageKey = draftKeys.create;

type Unknown = Readonly<Record<string, unknown>>;

function parse(text: string | null): Unknown {
  try {
    const value: unknown = JSON.parse(text ?? "null");
    return typeof value === "object" && value !== null ? (value as Unknown) : {};
  } catch {
    return {};
  }
}

const isText = (value: unknown): value is string => typeof value === "string";
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

/** The checkpoint, sampler and scheduler among the params of a job, or the settings of a draft. */
export function readChosen(given: Unknown): Pick<SettingOverrides, ListedSetting> {
  return Object.fromEntries(
    listedSettings.flatMap((name) => {
      const value = given[name];
      return isText(value) && value !== "" ? [[name, value]] : [];
    }),
  );
}

function readSettings(value: unknown): Record<string, SettingOverrides> {
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(
    Object.entries(value).map(([name, settings]: [string, unknown]) => {
      const { steps, ...others } = (settings ?? {}) as Unknown;
      const numbers = (
        ["guidance", ...pictureRoles.map((role) => `${role}Strength` as const)] as const
      ).flatMap((setting) =>
        typeof others[setting] === "number" ? [[setting, others[setting]] as const] : [],
      );
      const own = { ...(isCount(steps) ? { steps } : {}), ...Object.fromEntries(numbers) };
      return [name, { ...own, ...readChosen(others) }];
    }),
  );
}

function readAxis(value: unknown, otherwise: Axis): Axis {
  if (typeof value !== "object" || value === null) return otherwise;
  const { param, text } = value as Unknown;
  const known = axisParams.find((one) => one === param);
  return known !== undefined && isText(text) ? { param: known, text } : otherwise;
}

function readStyles(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter(isText).slice(0, mostStyles) : [];
}

/** Each picture once; what is no reference is left out. */
function readReferences(value: unknown): readonly Reference[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : [];
  const read = all.flatMap((one): Reference[] => {
    const { imageId, role } = (typeof one === "object" && one !== null ? one : {}) as Unknown;
    const known = pictureRoles.find((name) => name === role);
    return isText(imageId) && imageId !== "" && known !== undefined ? [{ imageId, role: known }] : [];
  });
  return read
    .filter(({ imageId }, at) => read.findIndex((other) => other.imageId === imageId) === at)
    .slice(0, mostReferences);
}

/** Reads each stored field by itself, so that one invalid field does not discard the others. */
export function readForm(text: string | null): CreateForm {
  const stored = parse(text);
  const side = (value: unknown, otherwise: number) => (isCount(value) && value > 0 ? value : otherwise);
  return {
    mode: modes.find((known) => known === stored.mode) ?? "one",
    styles: readStyles(stored.styles),
    loras: readLoras(stored.loras),
    references: readReferences(stored.references),
    xAxis: readAxis(stored.xAxis, emptyForm.xAxis),
    yAxis: readAxis(stored.yAxis, emptyForm.yAxis),
    prompt: isText(stored.prompt) ? stored.prompt : "",
    negativePrompt: isText(stored.negativePrompt) ? stored.negativePrompt : "",
    workflow: isText(stored.workflow) ? stored.workflow : null,
    aspect: stored.aspect === null ? null : (aspects.find((known) => known === stored.aspect) ?? "1:1"),
    widthPx: side(stored.widthPx, emptyForm.widthPx),
    heightPx: side(stored.heightPx, emptyForm.heightPx),
    count: isCount(stored.count) ? Math.min(maxPictures, Math.max(1, stored.count)) : 1,
    seed: isCount(stored.seed) ? stored.seed : null,
    gridSeed: isCount(stored.gridSeed) ? stored.gridSeed : null,
    settings: readSettings(stored.settings),
  };
}

function readStored(): CreateForm {
  return readForm(readDraft(storageKey));
}

function writeStored(form: CreateForm): void {
  writeDraft(storageKey, JSON.stringify(form));
}

const listeners = createListeners();
let form: CreateForm | null = null;

/** The form of the page: one per tab, stored in the browser. */
export const createForm = {
  get: (): CreateForm => {
    form ??= typeof window === "undefined" ? emptyForm : readStored();
    return form;
  },
  set: (changes: Partial<CreateForm>): void => {
    form = { ...createForm.get(), gridSeed: null, ...changes };
    writeStored(form);
    listeners.notify();
  },
  /** Puts words that were typed before the stored prompt could be shown behind it: none of the two is lost. */
  addFirst: (typed: string): void => {
    const { prompt, mode } = createForm.get();
    const most = mode === "list" ? maxListCharacters : maxPromptCharacters;
    const both = prompt === "" ? typed : `${prompt}\n${typed}`;
    if (prompt !== typed) createForm.set({ prompt: both.slice(0, most) });
  },
  /** Changes settings of one workflow; undefined restores the default. */
  setFor: (
    workflow: string,
    changes: { [Name in keyof SettingOverrides]: SettingOverrides[Name] | undefined },
  ): void => {
    const { settings } = createForm.get();
    createForm.set({ settings: { ...settings, [workflow]: { ...settings[workflow], ...changes } } });
  },
  watch: listeners.watch,
};

export function useForm(): CreateForm {
  return useSyncExternalStore(createForm.watch, createForm.get, () => emptyForm);
}
