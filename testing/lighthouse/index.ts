/**
 * Lighthouse over a browser that is already there: its default profile (a phone of the middle class, its network and processor simulated) on one page at a time.
 * It is here and not in the root, where its packages would change what Next.js and Better Auth resolve.
 */
import lighthouse from "lighthouse";

const categories = ["performance", "accessibility", "best-practices"] as const;

export interface PageReport {
  /** 0 to 100 of each category. */
  readonly scores: Readonly<Record<(typeof categories)[number], number>>;
  /** Largest contentful paint and total blocking time of the simulated phone, in ms. */
  readonly lcpMs: number;
  readonly tbtMs: number;
  readonly cls: number;
  /** All scripts that were loaded, as they came over the wire, headers included. */
  readonly scriptBytes: number;
  /**
   * The same by the processor time of the page's tasks, four times for the phone's: other work on this machine adds nothing to it. Of the whole load, so
   * that it is no part of the score.
   */
  readonly blockingCpuMs: number;
  /** Lighthouse's own figure for the speed of this machine at this moment; a phone of the middle class has 125 to 800. */
  readonly machine: number;
  /** Ids of audits of accessibility and best practices that count and did not pass, with the first element or message. */
  readonly failed: readonly string[];
}

interface NetworkRequest {
  readonly resourceType?: string;
  readonly transferSize?: number;
}

/** One load of a page without a cache in a new tab of the browser that listens on a port; its cookies stay. Throws when the page did not load. */
export async function readPage(url: string, port: number): Promise<PageReport> {
  const result = await lighthouse(url, {
    port,
    logLevel: "error",
    onlyCategories: [...categories],
    disableFullPageScreenshot: true,
  });
  if (!result) throw new Error(`Lighthouse has no report of ${url}.`);
  const { lhr } = result;
  if (lhr.runtimeError) throw new Error(`${url}: ${lhr.runtimeError.message}`);
  const value = (id: string) => lhr.audits[id]?.numericValue ?? Number.NaN;
  const score = (id: string) => Math.round((lhr.categories[id]?.score ?? 0) * 100);
  return {
    scores: {
      performance: score("performance"),
      accessibility: score("accessibility"),
      "best-practices": score("best-practices"),
    },
    lcpMs: value("largest-contentful-paint"),
    tbtMs: value("total-blocking-time"),
    cls: value("cumulative-layout-shift"),
    scriptBytes: itemsOf<NetworkRequest>(lhr.audits["network-requests"]?.details)
      .filter(({ resourceType }) => resourceType === "Script")
      .reduce((sum, { transferSize = 0 }) => sum + transferSize, 0),
    blockingCpuMs: blockingOf(result.artifacts.Trace.traceEvents),
    machine: lhr.environment.benchmarkIndex,
    failed: ["accessibility", "best-practices"].flatMap((id) =>
      (lhr.categories[id]?.auditRefs ?? [])
        .filter((ref) => ref.weight > 0 && isFailed(lhr.audits[ref.id]?.score))
        .map((ref) => `${ref.id}: ${firstOf(lhr.audits[ref.id]?.details)}`),
    ),
  };
}

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Processor time in µs; without it the event has none. */
  readonly tdur?: number;
}

/** What Lighthouse's phone is slower by, and the length of a task that is felt. */
const [slowness, feltMs] = [4, 50];

/** Of the thread with the most work among those that run pages, in ms. */
function blockingOf(events: readonly TraceEvent[]): number {
  const mains = events.filter(
    ({ name, args }: TraceEvent & { args?: { name?: string } }) =>
      name === "thread_name" && args?.name === "CrRendererMain",
  );
  const tasksOf = ({ pid, tid }: TraceEvent) =>
    events
      .filter((event) => event.name === "RunTask" && event.pid === pid && event.tid === tid)
      .map(({ tdur = 0 }) => (tdur / 1_000) * slowness);
  const sums = mains.map(tasksOf).map((tasks) => ({
    work: tasks.reduce((sum, ms) => sum + ms, 0),
    blocking: tasks.reduce((sum, ms) => sum + Math.max(0, ms - feltMs), 0),
  }));
  return sums.toSorted((a, b) => b.work - a.work)[0]?.blocking ?? Number.NaN;
}

const isFailed = (score: number | null | undefined) => typeof score === "number" && score < 1;

/** Safe cast: a table's rows are as its audit documents them. */
function itemsOf<Item>(details: object | undefined): readonly Item[] {
  const items: unknown = Object(details)["items"];
  return Array.isArray(items) ? (items as Item[]) : [];
}

function firstOf(details: object | undefined): string {
  return JSON.stringify(itemsOf<object>(details)[0] ?? {}).slice(0, 600);
}
