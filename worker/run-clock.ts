import type { Job } from "@atelier/server/jobs";
import { AppError, type Config } from "@atelier/server/platform";
import { runLimitMs } from "./run-limit.ts";

/** The limits of one run: of its wait for a server, which costs the job nothing, and from its begin of the work itself. */
export interface RunClock {
  /** Aborts with `server_busy` after the wait, with a TimeoutError after the work. */
  readonly signal: AbortSignal;
  /** The work begins; later calls change nothing. */
  begin(): void;
  /** Where the run waits from now on, so that its next try goes elsewhere. */
  noteServer(url: string): void;
  stop(): void;
}

type ClockJob = Pick<Job, "engine" | "queue" | "sizeClass" | "server" | "externalId">;

export function createRunClock(config: Config, job: ClockJob): RunClock {
  const controller = new AbortController();
  let server = job.externalId === null ? null : job.server;
  let hasBegun = false;
  let timer = setTimeout(() => {
    const details = server === null ? {} : { server };
    controller.abort(
      new AppError("server_busy", "The server did not begin with the picture in time.", { details }),
    );
  }, config.timing.serverWaitLimitMs);
  const begin = () => {
    if (hasBegun) return;
    hasBegun = true;
    clearTimeout(timer);
    timer = setTimeout(
      () => controller.abort(new DOMException("The run took too long.", "TimeoutError")),
      runLimitMs(config, job),
    );
  };
  // The engine of this computer waits for nobody.
  if (job.engine === "local") begin();
  return {
    signal: controller.signal,
    begin,
    noteServer(url) {
      server = url;
    },
    stop: () => clearTimeout(timer),
  };
}
