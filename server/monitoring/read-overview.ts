import type { Services } from "../services/index.ts";
import { findAttention, type Attention } from "./overview.ts";
import { readFigures, type EndedFigures, type Series, type WindowFigures } from "./figures.ts";
import { readNodes, type NodeFigures } from "./nodes.ts";
import { idleQueue, readQueues, type QueueNow } from "./read-queues.ts";
import type { FigureWindow } from "./window.ts";

/** A queue now and over the window. */
export interface QueueFigures extends QueueNow {
  readonly lastHour: { readonly completed: number; readonly failed: number };
  readonly window: EndedFigures;
  readonly series: Series;
}

export interface Overview extends Omit<WindowFigures, "byQueue"> {
  readonly window: FigureWindow;
  readonly attention: readonly Attention[];
  readonly queues: readonly QueueFigures[];
  readonly nodes: { readonly active: number; readonly draining: number };
}

const nothing: EndedFigures = {
  completed: 0,
  failed: 0,
  cancelled: 0,
  waitMs: { p50: null, p95: null },
  runMs: { p50: null, p95: null },
};

export interface OverviewInput {
  readonly window: FigureWindow;
  /** What readNodes gave, where it is needed beside the overview; else it is read. */
  readonly nodes?: Promise<readonly NodeFigures[]>;
}

/** All that the overview and the page of queues show, in at most nine statements. */
export async function readOverview(
  services: Pick<Services, "db" | "config">,
  { window, nodes: known }: OverviewInput,
): Promise<Overview> {
  const figuresOfHour = readFigures(services.db, "1h");
  const [queues, nodes, hour, figures] = await Promise.all([
    readQueues(services),
    known ?? readNodes(services),
    figuresOfHour,
    window === "1h" ? figuresOfHour : readFigures(services.db, window),
  ]);
  const { byQueue, ...rest } = figures;
  const isListed = (name: string) => queues.some(({ queue }) => queue === name);
  const former = [...byQueue.keys()].filter((name) => !isListed(name)).map(idleQueue);
  const none = (series: Series): Series => ({
    ...series,
    completed: series.completed.map(() => 0),
    failed: series.failed.map(() => 0),
  });
  return {
    ...rest,
    window,
    attention: findAttention(queues, nodes),
    nodes: {
      active: nodes.filter(({ state }) => state === "active").length,
      draining: nodes.filter(({ state }) => state === "draining").length,
    },
    queues: [...queues, ...former].map((queue) => {
      const { series, ...ended } = byQueue.get(queue.queue) ?? { ...nothing, series: none(rest.series) };
      const { completed, failed } = hour.byQueue.get(queue.queue) ?? nothing;
      return { ...queue, lastHour: { completed, failed }, window: ended, series };
    }),
  };
}
