import { parseArgs, type ParseArgsConfig } from "node:util";

type Options = NonNullable<ParseArgsConfig["options"]>;

interface FlagsInput<Flags extends Options> {
  readonly args: string[];
  readonly options: Flags;
  readonly required: readonly (keyof Flags & string)[];
  readonly usage: string;
}

type Values<Flags extends Options> = ReturnType<
  typeof parseArgs<{ args: string[]; options: Flags }>
>["values"];

function isParseError(error: unknown): error is Error {
  return error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
}

/** Parses the flags of a command. For invalid flags it prints the problem and the usage to stderr and returns null. */
export function parseFlags<const Flags extends Options>({
  args,
  options,
  required,
  usage,
}: FlagsInput<Flags>): Values<Flags> | null {
  const refuse = (message: string) => {
    console.error(`${message}\n${usage}`);
    return null;
  };
  try {
    const { values } = parseArgs({ args, options });
    const given: Record<string, unknown> = values;
    const missing = required.filter((name) => !given[name]);
    if (missing.length === 0) return values as Values<Flags>;
    return refuse(`Missing: ${missing.map((name) => `--${name}`).join(", ")}`);
  } catch (error) {
    if (!isParseError(error)) throw error;
    return refuse(error.message);
  }
}
