/** The checked configuration as far as a supervisor needs it. */
export interface Settings {
  readonly host: string;
  readonly port: number;
  /** Absolute. */
  readonly dataDir: string;
  /** Null = the embedded database. */
  readonly databaseUrl: string | null;
  /** Null = the generated one of the data folder. */
  readonly authSecret: string | null;
  readonly appUrl: string;
  /** Grace time of a worker at SIGTERM. */
  readonly stopGraceMs: number;
  /** Kinds that a worker is narrowed to; empty for all. */
  readonly only: readonly string[];
  /** Kinds that a worker could ever take with this configuration. */
  readonly possibleKinds: readonly string[];
}

export interface Problem {
  readonly name: string;
  readonly message: string;
}

export type PreflightReport =
  | { readonly problems: readonly []; readonly settings: Settings }
  | { readonly problems: readonly Problem[]; readonly settings: null };
