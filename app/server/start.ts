import { ZodError } from "zod";
import { type ConfigProblem, type Env, parseEnv } from "@atelier/server/platform";

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

/** The answer while the services cannot be opened; it contains nothing of an unknown error. */
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

/** Without the error's other properties: one of them holds the password of an invalid address. */
function toLogged(error: unknown): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: "The thrown value is not an error." };
  const { name: type, message, stack, cause } = error;
  return { type, message, stack, ...(cause === undefined ? {} : { cause: toLogged(cause) }) };
}

/** One structured line about a failed start, for stderr: the log itself may have failed to open. */
export function startFailureLine(error: unknown, at: Date): string {
  const line = {
    level: 50,
    time: at.getTime(),
    process: "web",
    err: toLogged(error),
    msg: "the services could not be opened",
  };
  return `${JSON.stringify(line)}\n`;
}
