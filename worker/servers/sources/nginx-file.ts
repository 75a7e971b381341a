import { AppError } from "@atelier/server/platform";

/** One `server` line of an upstream. */
export interface UpstreamServer {
  readonly upstream: string;
  /** A name or an address; IPv6 in brackets. */
  readonly host: string;
  readonly port: number;
  readonly weight: number;
  readonly isBackup: boolean;
  /** `down` or `drain`. */
  readonly isDrained: boolean;
}

const httpPort = 80;

/**
 * Reads the `upstream NAME { server …; }` blocks of an nginx file. Comments, includes and sockets of the file system
 * are passed over. Throws `bad_request` when a block is not closed, as in a file that is being written.
 */
export function parseUpstreams(text: string): UpstreamServer[] {
  const found: UpstreamServer[] = [];
  /** The open blocks; null for any other than an upstream. */
  const blocks: (string | null)[] = [];
  for (const { words, end } of statements(text)) {
    if (end === "{") blocks.push(words[0] === "upstream" ? (words[1] ?? "") : null);
    else if (end === null || (end === "}" && blocks.pop() === undefined)) throw broken();
    else if (end === ";") found.push(...readServer(blocks.at(-1) ?? null, words));
  }
  if (blocks.length > 0) throw broken();
  return found;
}

interface Statement {
  readonly words: readonly string[];
  /** What ended it; null where the file ends in its middle. */
  readonly end: ";" | "{" | "}" | null;
}

function* statements(text: string): Generator<Statement> {
  let words: string[] = [];
  for (const [token] of text.matchAll(/#[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[;{}]|[^\s;{}]+/g)) {
    if (token.startsWith("#")) continue;
    if (token === ";" || token === "{" || token === "}") {
      yield { words, end: token };
      words = [];
    } else {
      words.push(/^["']/.test(token) ? token.slice(1, -1) : token);
    }
  }
  if (words.length > 0) yield { words, end: null };
}

function readServer(
  upstream: string | null,
  [directive, address, ...options]: readonly string[],
): UpstreamServer[] {
  if (upstream === null || directive !== "server" || !address || address.startsWith("unix:")) return [];
  const [, host, port] = /^(\[[^\]]+\]|[^:]+)(?::(\d+))?$/.exec(address) ?? [];
  if (!host) throw new AppError("bad_request", `Not an address in upstream ${upstream}: ${address}`);
  return [
    {
      upstream,
      host,
      port: port ? Number(port) : httpPort,
      weight: weightOf(options),
      isBackup: options.includes("backup"),
      isDrained: options.includes("down") || options.includes("drain"),
    },
  ];
}

function weightOf(options: readonly string[]): number {
  const weight = Number(options.find((option) => option.startsWith("weight="))?.slice("weight=".length));
  return weight > 0 ? weight : 1;
}

function broken(): AppError {
  return new AppError("bad_request", "The nginx file ends in the middle of a block.");
}
