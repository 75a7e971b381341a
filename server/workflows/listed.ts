import { findModel, loraInput, loraNodes, type ModelChoices } from "./models.ts";
import { listedSchema, lorasSchema } from "./params.ts";
import { parseInputAddress, type Workflow } from "./workflow.ts";

type WithPlaces = Pick<Workflow, "graph" | "params">;

/** The params of a job whose values servers list. */
const listedNames = ["checkpoint", "loras", "sampler", "scheduler"] as const;
export type ListedName = (typeof listedNames)[number];

/** A graph input whose value a job chooses among those that servers list. */
interface ListedPlace {
  readonly name: ListedName;
  readonly class: string;
  readonly input: string;
  readonly isRequired: boolean;
}

export const placeOf = ({ class: name, input }: Pick<ListedPlace, "class" | "input">) => `${name}.${input}`;

/** The node of LoRAs is not in the graph: a job brings it along. */
export function listedPlaces({ graph, params }: WithPlaces): ListedPlace[] {
  return listedNames.flatMap((name): ListedPlace[] => {
    const spec = params[name];
    if (spec?.type === "loras") {
      const nodeClass = spec.clip ? loraNodes.both : loraNodes.model;
      return [{ name, class: nodeClass, input: loraInput, isRequired: false }];
    }
    const [first] = spec?.type === "listed" ? spec.to : [];
    if (first === undefined || spec?.type !== "listed") return [];
    const { nodeId, input } = parseInputAddress(first);
    return [{ name, class: graph[nodeId]?.class_type ?? "", input, isRequired: spec.required }];
  });
}

/** The classes that a job may bring along, if one of the workflows takes LoRAs. */
export function loraClasses(workflows: readonly WithPlaces[]): readonly string[] {
  const places = workflows.flatMap(listedPlaces).filter(({ name }) => name === "loras");
  return [...new Set(places.map((place) => place.class))];
}

/** What a server lists for the places that jobs of these workflows choose, besides LoRAs. */
export function listsOf(
  workflows: readonly WithPlaces[],
  choices: ModelChoices,
): Readonly<Record<string, readonly string[]>> {
  const places = workflows.flatMap(listedPlaces).filter(({ name }) => name !== "loras");
  return Object.fromEntries(
    places.flatMap((place) => {
      const known = choices.get(placeOf(place));
      return known === undefined ? [] : [[placeOf(place), known] as const];
    }),
  );
}

/** A value that a job chose of what servers list for a graph input. */
export interface Wish {
  readonly of: ListedName;
  /** `<class>.<input>` */
  readonly place: string;
  readonly name: string;
}

/** What a job with these params chose of what servers list. */
export function wishesOf(workflow: WithPlaces, params: Readonly<Record<string, unknown>>): readonly Wish[] {
  return listedPlaces(workflow).flatMap(({ name: of, ...at }): Wish[] => {
    const place = placeOf(at);
    if (of === "loras") {
      const loras = lorasSchema.safeParse(params[of] ?? []).data ?? [];
      return loras.map(({ name }) => ({ of, place, name }));
    }
    const chosen = listedSchema.safeParse(params[of]);
    return chosen.success ? [{ of, place, name: chosen.data }] : [];
  });
}

/** What a server with these choices says to some wishes: which it does not have, and which may be any of several files. */
export function findWishes(wishes: readonly Wish[], choices: ModelChoices) {
  const lacking: Wish[] = [];
  const several: (Wish & { readonly choices: readonly string[] })[] = [];
  for (const wish of wishes) {
    const found = findModel(wish.name, choices.get(wish.place) ?? []);
    if (found === null) lacking.push(wish);
    else if ("several" in found) several.push({ ...wish, choices: found.several });
  }
  return { lacking, several };
}

/** Whether a server with these choices has each of the wishes, and one file for each. */
export function hasWishes(wishes: readonly Wish[], choices: ModelChoices): boolean {
  const { lacking, several } = findWishes(wishes, choices);
  return lacking.length === 0 && several.length === 0;
}
