import type { ConfigProblem } from "@atelier/server/platform";

/** The configuration is wrong; what is wrong stands in `problems`. */
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
