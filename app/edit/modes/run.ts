import * as z from "zod/mini";
import type { JobKind } from "@atelier/server/engines";
import type { JobView } from "@atelier/server/jobs";
import type { OfferedParam, OfferedWorkflow } from "../../client/queries.ts";
import { choiceNameOf } from "../../client/submit/job.ts";
import { nearestAllowed } from "../../client/numbers.ts";

/** Settings that are numbers, in their order on the page. */
export const runNumbers = ["strength", "steps", "guidance"] as const;
export type RunNumber = (typeof runNumbers)[number];
type Numbers = Readonly<Partial<Record<RunNumber, number | undefined>>>;

/** With what a mode runs. What a workflow does not take is kept for one that does. */
export interface RunSettings {
  /** By kind of job the workflow or model that was chosen; without one the best fit runs. */
  readonly models: Readonly<Record<string, string>>;
  readonly negativePrompt: string;
  /** Null: random for each picture. */
  readonly seed: number | null;
  /** By workflow or model, since each has its own range; what is not set is the run's default. */
  readonly numbers: Readonly<Record<string, Numbers>>;
}

export const noRun: RunSettings = { models: {}, negativePrompt: "", seed: null, numbers: {} };

const number = z.optional(z.number());

/** What each member may be. */
export const runMembers = {
  models: z.record(z.string(), z.string()),
  negativePrompt: z.string(),
  seed: z.nullable(z.int().check(z.nonnegative())),
  numbers: z.record(z.string(), z.object({ strength: number, steps: number, guidance: number })),
} as const;

/** What the request of a job takes whatever its workflow declares. */
const widest = {
  strength: { min: 0, max: 1 },
  steps: { min: 1, max: 200 },
  guidance: { min: 0, max: 100 },
} as const;

const drawn: Partial<Record<JobKind, readonly RunNumber[]>> = {
  inpaint: runNumbers,
  edit: runNumbers,
  upscale: runNumbers,
  expand: ["steps", "guidance"],
};

type Taken = Partial<Record<RunNumber | "negativePrompt" | "seed", OfferedParam>>;

/** The settings that a run takes, each with its range. */
export function settingsTaken({ kind, params }: Pick<OfferedWorkflow, "kind" | "params">): Taken {
  const numbers = drawn[kind];
  if (numbers === undefined) return {};
  const { negativePrompt, seed } = params;
  return {
    ...Object.fromEntries(
      numbers.flatMap((name) => {
        const param = params[name];
        if (param === undefined) return [];
        const { min, max } = widest[name];
        const values = Object.keys(param.choices ?? {}).map(Number);
        const low = Math.min(...values, param.min ?? Infinity);
        const high = Math.max(...values, param.max ?? -Infinity);
        const range = {
          min: Math.max(min, Number.isFinite(low) ? low : min),
          max: Math.min(max, high === -Infinity ? max : high),
        };
        return [[name, { ...param, ...range }]];
      }),
    ),
    ...(negativePrompt === undefined ? {} : { negativePrompt }),
    ...(seed === undefined ? {} : { seed }),
  };
}

/** The params that a run gets of its settings: those that it takes and that differ from its defaults. */
export function paramsOfRun(settings: RunSettings, workflow: OfferedWorkflow | undefined) {
  if (workflow === undefined) return {};
  const taken = settingsTaken(workflow);
  const own = settings.numbers[workflow.name];
  const numbers = runNumbers.flatMap((name) => {
    const [param, value] = [taken[name], own?.[name]];
    if (param === undefined || value === undefined) return [];
    const allowed = nearestAllowed(value, param);
    return allowed === param.default ? [] : [[name, allowed] as const];
  });
  const negativePrompt = settings.negativePrompt.trim();
  return {
    ...(taken.negativePrompt === undefined || negativePrompt === "" ? {} : { negativePrompt }),
    ...(taken.seed === undefined || settings.seed === null
      ? {}
      : { seed: nearestAllowed(settings.seed, taken.seed) }),
    ...(Object.fromEntries(numbers) as Partial<Record<RunNumber, number>>),
  };
}

/** The settings of this run as they are by default; those of other workflows stay. */
export function withoutSettings({ numbers }: RunSettings, { name }: OfferedWorkflow): Partial<RunSettings> {
  const others = Object.entries(numbers).filter(([other]) => other !== name);
  return { negativePrompt: "", seed: null, numbers: Object.fromEntries(others) };
}

interface Offer {
  /** Of one kind; undefined until they are known. */
  readonly offered: readonly OfferedWorkflow[] | undefined;
  /** Can do what the mode is set to. */
  readonly fits: (workflow: OfferedWorkflow) => boolean;
  /** Name of what was chosen. */
  readonly wanted: string | undefined;
}

/** What can run now, the best fit first, and what was chosen of it. */
export function runsOf({ offered, fits, wanted }: Offer) {
  const options = offered?.filter((workflow) => workflow.isLive && fits(workflow)) ?? [];
  const chosen = options.find(({ name }) => name === wanted);
  /** Chosen, and not there any more, or not for this. */
  const lost = wanted === undefined || offered === undefined || chosen !== undefined ? null : wanted;
  return { options, chosen, lost };
}

type Source = Pick<JobView, "kind" | "params" | "workflow" | "model">;

/** The settings by which a job ran. */
export function runOfJob({ kind, params, ...source }: Source): RunSettings {
  const name = choiceNameOf(source);
  const { negativePrompt, seed } = params;
  const numbers = runNumbers.flatMap((one) =>
    typeof params[one] === "number" ? [[one, params[one]] as const] : [],
  );
  return {
    models: name === null ? {} : { [kind]: name },
    negativePrompt: typeof negativePrompt === "string" ? negativePrompt : "",
    seed: typeof seed === "number" ? seed : null,
    numbers: name === null ? {} : { [name]: Object.fromEntries(numbers) },
  };
}
