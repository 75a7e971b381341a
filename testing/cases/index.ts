import { describe, test, type TestContext } from "vitest";

/*
 * `pnpm test` runs what finds a fault soonest; `pnpm test:all` runs the rest: the same test with other values, the other
 * queue backend where the test is about something else, and what is about a part that few changes touch (`atelier seed`,
 * the examples). A tag tells them apart, and vitest itself runs both. Each fault, F1 to F37, has a case in `test`.
 */

/** Of the queue. */
export const backends = ["postgres", "redis"] as const;
export type Backend = (typeof backends)[number];

/**
 * Options of a test that is not in `pnpm test`. Frozen: Vitest writes `concurrent` into the options that it is given, and
 * every later test of the process would run at once with the others of its file.
 */
export const inAll = Object.freeze({ tags: ["all"] });

/** For tests in real lease times; they are about conditions with bounds of their own, not about this one. */
export const realTimeMs = 300_000;

interface Cases<A, B> {
  readonly usual: readonly A[];
  /** In `test:all`. */
  readonly others: readonly B[];
}

type Body<T> = (given: T, context: TestContext) => Promise<void>;

/** One test per case, at once. */
export function forCases<A, B>(name: string, { usual, others }: Cases<A, B>, body: Body<A | B>): void {
  test.concurrent.for(usual)(name, { timeout: realTimeMs }, body);
  test.concurrent.for(others)(name, { timeout: realTimeMs, ...inAll }, body);
}

/** The same, one after another, for tests that share a scene. */
export function forCasesInTurn<A, B>(name: string, { usual, others }: Cases<A, B>, body: Body<A | B>): void {
  test.for(usual)(name, body);
  test.for(others)(name, inAll, body);
}

/** The same for a suite whose tests share what is slow to start. */
export function forBackendSuites(name: string, body: (backend: Backend) => void): void {
  for (const backend of backends) {
    const options = backend === "postgres" ? {} : inAll;
    describe(name.replace("%s", backend), options, () => {
      body(backend);
    });
  }
}

/** For a test that bells may not change: on PostgreSQL in `test`, on Redis in `test:all`. */
export function forBackends(name: string, body: Body<Backend>): void {
  forCases(name, { usual: ["postgres"], others: ["redis"] } as const, body);
}
