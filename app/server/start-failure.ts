import { ZodError } from "zod";
import type { ConfigProblem } from "@atelier/server/platform";

/** The configuration is wrong; `problems` lists the reasons. */
export class ConfigurationError extends Error {
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    super(
      `The configuration is wrong: ${problems.map(({ name, message }) => `${name} ${message}`).join("; ")}`,
    );
    this.name = "ConfigurationError";
    this.problems = problems;
  }
}

interface Problem {
  readonly path: string;
  readonly message: string;
}

/** What is wrong with the configuration; null when the failure has another cause. */
function configurationProblems(error: unknown): readonly Problem[] | null {
  if (error instanceof ConfigurationError) {
    return error.problems.map(({ name, message }) => ({ path: name, message }));
  }
  if (error instanceof ZodError) {
    return error.issues.map(({ path, message }) => ({ path: path.join("."), message }));
  }
  return null;
}

/** The answer while the services cannot be opened: only what is known, and nothing from inside an unknown error. */
export function startFailureResponse(error: unknown): Response {
  const problems = configurationProblems(error);
  const detail =
    problems === null
      ? "The studio could not start; its log on the server says why. `atelier doctor` may help to find it."
      : "The studio cannot start: its configuration is wrong. Run `atelier doctor` on the server.";
  const body = {
    type: "about:blank",
    title: "Service Unavailable",
    status: 503,
    detail,
    code: problems === null ? "start_failed" : "misconfigured",
    errors: problems ?? [],
  };
  return new Response(JSON.stringify(body), {
    status: 503,
    headers: { "content-type": "application/problem+json", "cache-control": "no-store" },
  });
}

interface Told {
  readonly type: string;
  readonly message: string;
  readonly stack?: string | undefined;
  readonly cause?: Told;
}

/** Not the error's other properties: an unusable address carries its password in one of them. */
function tell(error: unknown): Told {
  if (!(error instanceof Error))
    return { type: typeof error, message: "Something else than an error was thrown." };
  const { name: type, message, stack, cause } = error;
  return { type, message, stack, ...(cause === undefined ? {} : { cause: tell(cause) }) };
}

/** One structured line about it; the log itself may be what could not be opened. */
export function startFailureLine(error: unknown, at: Date): string {
  const line = {
    level: 50,
    time: at.getTime(),
    process: "web",
    err: tell(error),
    msg: "the services could not be opened",
  };
  return `${JSON.stringify(line)}\n`;
}
