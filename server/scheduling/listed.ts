import { sql } from "drizzle-orm";
import { type Db, schema } from "../db/index.ts";
import { isActive } from "../nodes/index.ts";
import {
  type ListedName,
  listedPlaces,
  type ModelChoices,
  placeOf,
  type Workflow,
} from "../workflows/index.ts";
import { knows } from "./on-demand.ts";
import { findWorkflow } from "./workflows.ts";

/**
 * What the servers of the last 24 hours list which can run a workflow, for the places that a job chooses: LoRAs, checkpoint,
 * sampler, scheduler; one for each server. A job may wait for a server that is away now, as for any other that it needs.
 */
export async function readListed(db: Db, workflow: Workflow): Promise<readonly ModelChoices[]> {
  const { engineServers, nodes } = schema;
  const places = listedPlaces(workflow);
  if (places.length === 0) return [];
  const rows = await db.execute<{ loras: string[]; lists: Readonly<Record<string, readonly string[]>> }>(sql`
    select distinct s.loras, s.lists from ${engineServers} s join ${nodes} n on n.id = s.node_id
    where (${isActive()} or n.seen_at > now() - interval '24 hours' or ${knows(sql`${`comfyui/${workflow.name}`}::text`)})
      and ${`comfyui/${workflow.name}`} = any (s.needs)`);
  return rows.map(({ loras, lists }) => {
    const choicesOf = ({ name, ...at }: (typeof places)[number]) =>
      name === "loras" ? loras : (lists[placeOf(at)] ?? []);
    return new Map(places.map((place) => [placeOf(place), choicesOf(place)]));
  });
}

/** What servers on Windows list with the other slash is the same file. */
const pathOf = (name: string) => name.replaceAll("\\", "/");

/** The same of all servers together: files by the alphabet, samplers and schedulers in the order of the servers. */
export async function readListedNames(
  db: Db,
  name: string,
): Promise<Partial<Record<ListedName, readonly string[]>>> {
  const workflow = await findWorkflow(db, name);
  if (workflow === null) return {};
  const servers = await readListed(db, workflow);
  return Object.fromEntries(
    listedPlaces(workflow).map((place) => {
      const all = servers.flatMap((choices) => choices.get(placeOf(place)) ?? []);
      const isFile = place.name === "loras" || place.name === "checkpoint";
      const alike = Map.groupBy(isFile ? all.toSorted() : all, pathOf);
      return [place.name, [...alike.values()].flatMap(([first]) => first ?? [])];
    }),
  );
}
