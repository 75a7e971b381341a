import type { BrowserContext, Page, Request } from "@playwright/test";

export interface Streams {
  readonly openCount: () => number;
  readonly openedCount: () => number;
  /** The tab that leads: it holds the newest stream. */
  readonly leader: () => Page | undefined;
}

/** Counts the streams of live updates that the tabs of a browser hold. */
export function countStreams(context: BrowserContext): Streams {
  const open = new Set<Request>();
  let opened = 0;
  context.on("request", (request) => {
    if (!request.url().includes("/api/trpc/jobs.watch")) return;
    opened += 1;
    open.add(request);
  });
  const close = (request: Request) => void open.delete(request);
  context.on("requestfinished", close);
  context.on("requestfailed", close);
  const holders = () => [...open].map((request) => request.frame().page()).filter((page) => !page.isClosed());
  return {
    openCount: () => holders().length,
    leader: () => holders().at(-1),
    openedCount: () => opened,
  };
}
