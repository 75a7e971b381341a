import { ZodError } from "zod";
import { ConfigError, type ConfigProblem, type Env, parseEnv } from "@atelier/server/platform";

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

/** What the supervisor sets and a bare `next start` lacks. */
const needed = ["DATABASE_URL", "AUTH_SECRET"] as const;

/** The environment of the web process. Throws ConfigurationError with all that is wrong or missing. */
export function readWebEnv(source: Readonly<Record<string, string | undefined>>): Env {
  const { env, problems } = parseEnv(source);
  if (!env) throw new ConfigurationError(problems);
  const missing = needed.filter((name) => !env[name]);
  if (missing.length > 0)
    throw new ConfigurationError(missing.map((name) => ({ name, message: "is not set" })));
  return env;
}

interface Problem {
  readonly path: string;
  readonly message: string;
}

/** The problems of the configuration; null when the failure has another cause. */
function configurationProblems(error: unknown): readonly Problem[] | null {
  if (error instanceof ConfigurationError || error instanceof ConfigError) {
    return error.problems.map(({ name, message }) => ({ path: name, message }));
  }
  if (error instanceof ZodError) {
    return error.issues.map(({ path, message }) => ({ path: path.join("."), message }));
  }
  return null;
}

/** The 503 while the services cannot be opened. Of an unknown error it contains no text. */
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

interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly stack?: string | undefined;
  readonly cause?: LoggedError;
}

/** Leaves out the other properties of the error: that of an invalid URL contains the password. */
function describeError(error: unknown): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: "The thrown value is no Error." };
  const { name: type, message, stack, cause } = error;
  return { type, message, stack, ...(cause === undefined ? {} : { cause: describeError(cause) }) };
}

/** One JSON log line about the failure; written without the log, which may be what failed to open. */
export function startFailureLine(error: unknown, at: Date): string {
  const line = {
    level: 50,
    time: at.getTime(),
    process: "web",
    err: describeError(error),
    msg: "the services could not be opened",
  };
  return `${JSON.stringify(line)}\n`;
}
