import type { BatchView } from "@atelier/server/batches";
import type { OfferedParam, OfferedWorkflow } from "../client/queries.ts";
import { numbersIn, promptsIn, wordsIn } from "./axis-values.ts";
import {
  aspects,
  type Axis,
  type CreateForm,
  isListed,
  type ListedSetting,
  maxJobs,
  mostStyles,
  type SettingOverrides,
} from "./form.ts";
import { loraWeight } from "../jobs/params.ts";
import { type PictureProblem, pictureProblem } from "./references.ts";
import { buildRequests, type CreateRequest, fixedSeed, lacksChoice } from "./requests.ts";

/** Why an axis or a list cannot be used. */
export type PlanProblem =
  | PictureProblem
  | { readonly what: "unreadable" | "notInPrompt" | "unchosen"; readonly value: string }
  | { readonly what: "untaken"; readonly value: Axis["param"] }
  | { readonly what: "tooMany" | "tooManyStyles"; readonly count: number }
  | {
      readonly what: "outOfRange";
      readonly value: number;
      readonly param: Pick<OfferedParam, "min" | "max">;
    };

/** All that one click makes: its requests in their order, and how they stand as a table. */
export interface Plan {
  readonly requests: readonly CreateRequest[];
  readonly axes: BatchView["axes"];
  readonly problem: PlanProblem | null;
}

type Workflows = readonly OfferedWorkflow[];
type BatchAxis = NonNullable<BatchView["axes"]>[number];

/** What the form makes with the workflow that is chosen. */
export function planOf(form: CreateForm, chosen: OfferedWorkflow, offered: Workflows): Plan {
  const plan = makers[form.mode](form, chosen, offered);
  const count = plan.requests.length;
  return count > maxJobs ? { ...plan, requests: [], problem: { what: "tooMany", count } } : plan;
}

const makers: Readonly<
  Record<CreateForm["mode"], (form: CreateForm, chosen: OfferedWorkflow, offered: Workflows) => Plan>
> = {
  one: (form, chosen) => {
    const problem = pictureProblem(form.references, chosen);
    return { requests: problem ? [] : buildRequests(form, chosen), axes: null, problem };
  },
  list: listPlan,
  grid: gridPlan,
};

function listPlan(form: CreateForm, chosen: OfferedWorkflow): Plan {
  const prompts = promptsIn(form.prompt);
  const count = prompts.length * form.count;
  if (count > maxJobs) return { requests: [], axes: null, problem: { what: "tooMany", count } };
  const problem = pictureProblem(form.references, chosen);
  if (problem) return { requests: [], axes: null, problem };
  const requests = prompts.flatMap((prompt) => buildRequests({ ...form, prompt }, chosen));
  return { requests, axes: null, problem };
}

/** A form with the value of one place, and the workflow that makes it. */
interface Cell {
  readonly form: CreateForm;
  readonly workflow: OfferedWorkflow;
  /** Kept apart, since another axis may still change the workflow that they are for. */
  readonly numbers: SettingOverrides;
}

interface ReadAxis {
  readonly axis: BatchAxis;
  /** One for each value. */
  readonly apply: readonly ((cell: Cell) => Cell)[];
  /** Why the workflow of a cell cannot make its value: the picture would not be what its place says. */
  readonly problemIn?: (cell: Cell) => PlanProblem | null;
}

type AxisReading = ReadAxis | { readonly problem: PlanProblem };

function gridPlan(form: CreateForm, chosen: OfferedWorkflow, offered: Workflows): Plan {
  const readings = [form.yAxis, form.xAxis].flatMap((axis) =>
    axis.text.trim() === "" ? [] : [readAxis(axis, { form, workflow: chosen, numbers: {} }, offered)],
  );
  const problem = readings.find((reading) => "problem" in reading)?.problem ?? null;
  const axes = readings.flatMap((reading) => ("axis" in reading ? [reading] : []));
  const count = axes.reduce((product, { apply }) => product * apply.length, 1);
  if (problem !== null) return { requests: [], axes: null, problem };
  if (count > maxJobs) return { requests: [], axes: null, problem: { what: "tooMany", count } };
  const cells = axes.reduce<readonly Cell[]>(
    (made, { apply }) => made.flatMap((cell) => apply.map((change) => change(cell))),
    [{ form: { ...form, count: 1 }, workflow: chosen, numbers: {} }],
  );
  const refused = problemAmong(cells, axes);
  if (refused !== null) return { requests: [], axes: null, problem: refused };
  const fixed = fixedSeed(form);
  return {
    requests: cells.flatMap((cell) => buildRequests(withNumbers(cell), cell.workflow)).map(fixed),
    axes: axes.length === 0 ? null : axes.map(({ axis }) => axis),
    problem: null,
  };
}

function problemAmong(cells: readonly Cell[], axes: readonly ReadAxis[]): PlanProblem | null {
  const problems = cells.flatMap((cell) => [
    pictureProblem(cell.form.references, cell.workflow),
    ...axes.map(({ problemIn }) => problemIn?.(cell) ?? null),
    lacksChoice(withNumbers(cell), cell.workflow)
      ? { what: "unchosen" as const, value: cell.workflow.title }
      : null,
  ]);
  return problems.find((problem) => problem !== null) ?? null;
}

function readAxis({ param, text }: Axis, cell: Cell, offered: Workflows): AxisReading {
  if (isListed(param)) return readListed(text, param);
  switch (param) {
    case "part":
      return readParts(text, cell);
    case "size":
      return readSizes(text);
    case "workflow":
      return readNamed(text, param, (name) => {
        const workflow = offered.find((one) => one.name === name);
        return workflow && ((at) => ({ ...at, workflow }));
      });
    case "style":
      return readStyles(text);
    case "picture":
      return readPictures(text, cell);
    case "lora":
      return readWeights(text, cell);
    case "seed":
    case "steps":
    case "guidance":
      return readNumbers(text, param);
  }
}

/** The first word is in the prompt, and the others take its place. */
function readParts(text: string, { form }: Cell): AxisReading {
  const words = wordsIn(text);
  const [first = ""] = words;
  if (first === "" || !`${form.prompt}\n${form.negativePrompt}`.includes(first))
    return { problem: { what: "notInPrompt", value: first } };
  return {
    axis: { param: "prompt", values: words },
    apply: words.map((word) => (cell) => ({
      ...cell,
      form: {
        ...cell.form,
        prompt: cell.form.prompt.replaceAll(first, () => word),
        negativePrompt: cell.form.negativePrompt.replaceAll(first, () => word),
      },
    })),
    problemIn: ({ workflow: { params } }) =>
      params.negativePrompt === undefined && !form.prompt.includes(first)
        ? { what: "notInPrompt", value: first }
        : null,
  };
}

function readSizes(text: string): AxisReading {
  const words = wordsIn(text);
  const apply: ((cell: Cell) => Cell)[] = [];
  for (const word of words) {
    const aspect = aspects.find((known) => known === word);
    const [, width, height] = /^(\d{2,4})\s*[x×]\s*(\d{2,4})$/i.exec(word) ?? [];
    if (aspect === undefined && height === undefined) return { problem: { what: "unreadable", value: word } };
    const size = aspect ? { aspect } : { aspect: null, widthPx: Number(width), heightPx: Number(height) };
    apply.push((cell) => ({ ...cell, form: { ...cell.form, ...size } }));
  }
  return { axis: { param: "size", values: words }, apply, problemIn: sizeProblem };
}

function sizeProblem({ form, workflow: { params } }: Cell): PlanProblem | null {
  if (params.width === undefined || params.height === undefined) return { what: "untaken", value: "size" };
  if (form.aspect !== null) return null;
  return rangeProblem(form.widthPx, params.width) ?? rangeProblem(form.heightPx, params.height);
}

function rangeProblem(value: number, param: Pick<OfferedParam, "min" | "max">): PlanProblem | null {
  const isInside = value >= (param.min ?? 0) && value <= (param.max ?? Number.MAX_SAFE_INTEGER);
  return isInside ? null : { what: "outOfRange", value, param };
}

function readNamed(
  text: string,
  param: "workflow" | "style",
  changeFor: (name: string) => ((cell: Cell) => Cell) | undefined,
): AxisReading {
  const names = wordsIn(text);
  const changes = names.map(changeFor);
  const missing = names.find((_name, at) => changes[at] === undefined);
  if (missing !== undefined) return { problem: { what: "unreadable", value: missing } };
  return { axis: { param, values: names }, apply: changes.filter((change) => change !== undefined) };
}

/** Each is put beside those that are on. */
function readStyles(text: string): AxisReading {
  const reading = readNamed(text, "style", (name) => (at) => ({
    ...at,
    form: { ...at.form, styles: [...at.form.styles.filter((one) => one !== name), name] },
  }));
  const problemIn = ({ form: { styles } }: Cell): PlanProblem | null =>
    styles.length > mostStyles ? { what: "tooManyStyles", count: styles.length } : null;
  return "problem" in reading ? reading : { ...reading, problemIn };
}

/** One picture of a role after another, by their numbers in the list; those of other roles stay. */
function readPictures(text: string, { form: { references } }: Cell): AxisReading {
  const all = numbersIn(text).map((value) => ({
    value,
    picture: typeof value === "number" ? references[value - 1] : undefined,
  }));
  const role = all[0]?.picture?.role;
  const wrong = all.find(({ picture }) => picture === undefined || picture.role !== role);
  if (role === undefined || wrong) return { problem: { what: "unreadable", value: String(wrong?.value) } };
  const pictures = all.flatMap(({ picture }) => picture ?? []);
  return {
    axis: { param: `inputs.${role}`, values: pictures.map(({ imageId }) => imageId) },
    apply: pictures.map((picture) => (cell) => {
      const others = cell.form.references.filter((one) => one.role !== role);
      return { ...cell, form: { ...cell.form, references: [picture, ...others] } };
    }),
  };
}

function readNumbers(text: string, param: "seed" | "steps" | "guidance"): AxisReading {
  const values: number[] = [];
  for (const value of numbersIn(text)) {
    if (typeof value === "string") return { problem: { what: "unreadable", value } };
    values.push(value);
  }
  return {
    axis: { param, values },
    apply: values.map(
      (value) => (cell) =>
        param === "seed"
          ? { ...cell, form: { ...cell.form, seed: value } }
          : { ...cell, numbers: { ...cell.numbers, [param]: value } },
    ),
    problemIn: ({ form, numbers, workflow }) => {
      const spec = workflow.params[param];
      if (spec === undefined) return { what: "untaken", value: param };
      const value = (param === "seed" ? form.seed : numbers[param]) ?? 0;
      const isWhole = param === "guidance" || Number.isSafeInteger(value);
      return isWhole ? rangeProblem(value, spec) : { what: "outOfRange", value, param: spec };
    },
  };
}

/** Of the first LoRA. */
function readWeights(text: string, { form }: Cell): AxisReading {
  const [first] = form.loras;
  if (first === undefined) return { problem: { what: "untaken", value: "lora" } };
  const weights: number[] = [];
  for (const value of numbersIn(text)) {
    if (typeof value === "string") return { problem: { what: "unreadable", value } };
    if (value < loraWeight.min || value > loraWeight.max)
      return { problem: { what: "outOfRange", value, param: loraWeight } };
    weights.push(value);
  }
  return {
    axis: { param: "lora", values: weights },
    apply: weights.map((weight) => (cell) => {
      const loras = cell.form.loras.map((one) => (one.name === first.name ? { ...one, weight } : one));
      return { ...cell, form: { ...cell.form, loras } };
    }),
    problemIn: ({ workflow }) =>
      workflow.params.loras === undefined ? { what: "untaken", value: "lora" } : null,
  };
}

/** Names as the servers list them. Whether a server has all of a cell is found when the request is checked. */
function readListed(text: string, param: ListedSetting): AxisReading {
  const values = wordsIn(text);
  const change = (value: string) => (cell: Cell) => ({
    ...cell,
    numbers: { ...cell.numbers, [param]: value },
  });
  return {
    axis: { param, values },
    apply: values.map(change),
    problemIn: ({ workflow }) =>
      workflow.params[param] === undefined ? { what: "untaken", value: param } : null,
  };
}

function withNumbers({ form, workflow, numbers }: Cell): CreateForm {
  const own = { ...form.settings[workflow.name], ...numbers };
  return { ...form, settings: { ...form.settings, [workflow.name]: own } };
}
