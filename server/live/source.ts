import { type SQL, sql } from "drizzle-orm";
import { ago } from "../db/index.ts";
import type { HintMessage, LiveMessage } from "../queue/index.ts";
import type { Services } from "../services.ts";

/** The state of a row that its owner watches, without its content. */
export interface Mark {
  readonly id: string;
  readonly ownerId: string;
  readonly revision: number;
  /** Differs with each change that makes no new revision; empty where every change makes one. */
  readonly detail: string;
  /** The row is being worked on: live updates of it may come. */
  readonly isActive: boolean;
}

/** A row as its owner sees it. */
export interface Row<View> {
  readonly mark: Mark;
  readonly view: View;
}

/** Rows as of a time of the database's clock, ISO 8601. */
interface Rows<View> {
  readonly rows: readonly Row<View>[];
  readonly at: string;
}

/** A row that changed, as a hint names it. */
type HintedRow = Pick<Mark, "id" | "ownerId" | "revision">;

/** An update of a row between two of its changes, such as progress. The database does not have it. */
interface Live<Update> {
  readonly id: string;
  readonly update: Update;
}

/** One kind of rows whose changes browsers see at once. `Update` is what a stream sends. */
export interface LiveSource<View, Update> {
  /** Each process has one feed per name. */
  readonly name: "jobs" | "runs";
  /** Milliseconds between two polls while no row is active; while one is, and after a stream began, each poll looks. */
  readonly restMs: number;
  /** Live updates belong to one revision, such as the words of a stage; those of a job go on over its changes. */
  readonly liveEndsWithRevision: boolean;
  hinted(message: HintMessage): readonly HintedRow[];
  liveOf(message: LiveMessage): Live<Update> | null;
  /** Joins two live updates of one row for a reader that got neither. */
  joinLive(last: Update, next: Update): Update;
  /** Marks of the owners' open rows and of those that ended within the last `withinMs`. */
  readMarks(
    services: Services,
    input: { readonly ownerIds: readonly string[]; readonly withinMs: number },
  ): Promise<readonly Mark[]>;
  readRows(services: Services, ids: readonly string[]): Promise<Rows<View>>;
  /** What a stream begins with. */
  readFirst(
    services: Services,
    input: { readonly ownerId: string; readonly since: Date | null },
  ): Promise<readonly Row<View>[]>;
  /** Null when there is nothing to send. */
  toUpdate(views: readonly View[], at: string, kind: "first" | "changed"): Update | null;
  /**
   * Asks for live updates of these active rows, called after each change of them while their messages arrive; after an empty
   * list, for the newest of each again. Absent where they come unasked.
   */
  openRequests?(services: Services): (ids: readonly string[]) => void;
}

/** Covers commits that become visible late; a row that is read twice is dropped by its revision. */
const overlapMs = 5_000;

/**
 * SQL expression: a stream begins with rows that ended after this time: the last update of the client, or a look back, also where that
 * update lies ahead, since the clock was set back meanwhile.
 */
export function firstRowsFrom(since: Date | null, lookBackMs: number): SQL {
  if (since === null) return ago(lookBackMs);
  const from = sql`${new Date(since.getTime() - overlapMs).toISOString()}::timestamptz`;
  return sql`case when ${from} > now() then ${ago(lookBackMs)} else ${from} end`;
}

/** Whether the mark belongs to a newer state than the known one. */
export function isNewer(known: Mark | null | undefined, mark: Mark): boolean {
  if (!known || known.revision < mark.revision) return true;
  return known.revision === mark.revision && known.detail !== mark.detail;
}
