export const aspects = ["1:1", "4:3", "3:4", "3:2", "2:3", "16:9", "9:16"] as const;
export type Aspect = (typeof aspects)[number];

/** What was set for one workflow; what is missing is the workflow's default. */
export interface OwnSettings {
  readonly steps?: number;
  readonly guidance?: number;
}

/** What stands in the form; it survives a reload. */
export interface CreateForm {
  readonly prompt: string;
  readonly negativePrompt: string;
  /** null: the best that can run now. */
  readonly workflow: string | null;
  /** null: `width` and `height` count. */
  readonly aspect: Aspect | null;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly count: number;
  /** null: drawn anew for each picture. */
  readonly seed: number | null;
  readonly settings: Readonly<Record<string, OwnSettings>>;
}

export const mostPictures = 8;

export const emptyForm: CreateForm = {
  prompt: "",
  negativePrompt: "",
  workflow: null,
  aspect: "1:1",
  widthPx: 1_024,
  heightPx: 1_024,
  count: 1,
  seed: null,
  settings: {},
};
