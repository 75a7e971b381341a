import { sql, type SQL } from "drizzle-orm";
import { schema } from "../../db/index.ts";
import { isFinal, openStatuses } from "../status.ts";
import { idRange } from "./id-range.ts";
import type { SearchInput } from "../admin-search.ts";

/** A search split in what an index answers and what each row is held against. */
export interface Plan {
  readonly slice: readonly SQL[];
  readonly filters: readonly SQL[];
}

export const escapeLike = (text: string) => text.replaceAll(/[\\%_]/g, String.raw`\$&`);
const contains = (text: string) => `%${escapeLike(text)}%`;

export function planSearch(input: SearchInput): Plan {
  const ids = input.text === undefined ? null : idRange(input.text);
  const byStatus = planStatus(input.status);
  return {
    slice: [
      ...(input.cursor === undefined ? [] : [sql`j.id < ${input.cursor}`]),
      ...(ids ? [sql`j.id between ${ids.low} and ${ids.high}`] : []),
      ...byStatus.slice,
    ],
    filters: [...(ids ? [] : textFilter(input.text)), ...byStatus.filters, ...fieldFilters(input)],
  };
}

/** The statuses that are in the minority have an index of their own. */
function planStatus(status: SearchInput["status"]): Plan {
  if (status === undefined) return { slice: [], filters: [] };
  if (status === "open") return { slice: [sql`j.status in ${[...openStatuses]}`], filters: [] };
  if (status === "completed") return { slice: [], filters: [sql`j.status = ${status}`] };
  if (isFinal(status)) return { slice: [sql`j.status = ${status}`], filters: [] };
  return { slice: [sql`j.status in ${[...openStatuses]}`], filters: [sql`j.status = ${status}`] };
}

function textFilter(text: string | undefined): SQL[] {
  if (text === undefined) return [];
  const like = contains(text);
  return [
    sql`(j.params ->> 'prompt' ilike ${like} or j.error_message ilike ${like} or j.workflow ilike ${like})`,
  ];
}

function fieldFilters({ kind, queue, node, server, code }: SearchInput): SQL[] {
  const isOnNode = sql`j.node_id in (select n.id from ${schema.nodes} n where n.name = ${node})`;
  return [
    kind && sql`j.kind = ${kind}`,
    queue && sql`j.queue = ${queue}`,
    node && isOnNode,
    server && sql`j.server ilike ${contains(server)}`,
    code && sql`j.error_code = ${code}`,
  ].filter((filter) => filter !== undefined && filter !== "");
}
