/** One job as a node saw it; times of one clock, in ms. */
export interface LoopJob {
  readonly node: number;
  /** Accepted to started. */
  readonly waitMs: number;
  readonly endedAtMs: number;
}

export interface Loop {
  /** To be called with each job that has ended; puts the next one into the line. */
  ended(job: LoopJob): void;
  /** Fills the line, lets the loop run for its time and gives back the jobs that ended after the warm-up. */
  run(): Promise<LoopJob[]>;
}

export interface LoopInput {
  /** Jobs that are open at any moment. */
  readonly open: number;
  readonly warmMs: number;
  readonly windowMs: number;
  readonly accept: () => Promise<unknown>;
}

/** As many jobs open all the time: whoever has one that ended submits the next, so that the line never runs empty nor grows. */
export function createLoop({ open, warmMs, windowMs, accept }: LoopInput): Loop {
  const jobs: LoopJob[] = [];
  const accepting = new Set<Promise<unknown>>();
  let isOpen = true;
  const acceptNext = () => {
    const accepted = accept().finally(() => accepting.delete(accepted));
    accepting.add(accepted);
  };
  return {
    ended(job) {
      jobs.push(job);
      if (isOpen) acceptNext();
    },
    async run() {
      for (let count = 0; count < open; count += 1) acceptNext();
      await Promise.all(accepting);
      const beganMs = performance.now();
      await new Promise((resolve) => setTimeout(resolve, warmMs + windowMs));
      isOpen = false;
      await Promise.all(accepting);
      const fromMs = beganMs + warmMs;
      return jobs.filter(({ endedAtMs }) => endedAtMs >= fromMs && endedAtMs <= fromMs + windowMs);
    },
  };
}

/** Jobs per second: of each node from its first end to its last, so that the edges of the window do not count. */
export function rateOf(jobs: readonly LoopJob[]): number {
  const rates = [...Map.groupBy(jobs, ({ node }) => node).values()].map((own) => {
    const ends = own.map(({ endedAtMs }) => endedAtMs);
    return own.length > 1 ? ((own.length - 1) * 1_000) / (Math.max(...ends) - Math.min(...ends)) : 0;
  });
  return rates.reduce((sum, rate) => sum + rate, 0);
}
