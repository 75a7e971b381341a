type Params = Readonly<Record<string, unknown>>;

/** Settings as people read them, in this order; words and the consent stand elsewhere. */
const shown = ["category", "scale", "steps", "guidance", "strength", "seed"] as const;
type ShownParam = "size" | (typeof shown)[number];

export interface ParamRow {
  readonly name: ShownParam;
  readonly value: string;
}

const isPlain = (value: unknown): value is string | number =>
  typeof value === "string" || typeof value === "number";

/** What a job was told besides its words. */
export function paramRows(params: Params): ParamRow[] {
  const { width, height } = params;
  const size: ParamRow[] =
    isPlain(width) && isPlain(height) ? [{ name: "size", value: `${width} × ${height}` }] : [];
  const rest = shown.flatMap((name): ParamRow[] => {
    const value = params[name];
    return isPlain(value) ? [{ name, value: String(value) }] : [];
  });
  return [...size, ...rest];
}

/** The words of a job; empty where it had none. */
export function wordsOf(params: Params): { readonly prompt: string; readonly negativePrompt: string } {
  const text = (value: unknown) => (typeof value === "string" ? value : "");
  return { prompt: text(params.prompt), negativePrompt: text(params.negativePrompt) };
}
