import { lookup } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { AppError } from "@atelier/server/platform";
import { parseAddress } from "../address.ts";
import type { ListedServer, Source } from "./http.ts";

export interface NginxFile {
  readonly file: string;
  /** Name of the upstream; null for every upstream of the file. */
  readonly upstream: string | null;
  readonly scheme: "http" | "https";
  /** Path prefix of each server, such as `/comfy`. */
  readonly prefix: string;
  /** Part of each request to a server. */
  readonly query: string;
}

/** The servers of an upstream in an nginx file. A name that resolves to several addresses becomes several servers. */
export function createNginxFileSource(config: NginxFile): Source {
  const { file, upstream } = config;
  const known = new Map<string, readonly string[]>();
  return {
    name: `nginx:${file}${upstream ? `#${upstream}` : ""}`,
    async read() {
      const servers = selectUpstream(parseUpstreams(await readText(file)), config);
      const lists = await Promise.all(
        servers.map(async (server) => {
          const hosts = await resolveHost(server.host, known);
          return hosts.map((host) => toListed({ ...server, host }, config));
        }),
      );
      return lists.flat();
    },
  };
}

/** The servers of the configured upstream. Throws `not_found` when there is none. */
function selectUpstream(servers: UpstreamServer[], { file, upstream }: NginxFile): UpstreamServer[] {
  const chosen = upstream ? servers.filter((server) => server.upstream === upstream) : servers;
  // nginx refuses an upstream without servers, so the name is wrong or the file is being changed.
  if (chosen.length === 0)
    throw new AppError("not_found", `There is no server of upstream ${upstream ?? "(any)"} in ${file}.`);
  return chosen;
}

function toListed(server: UpstreamServer, { scheme, prefix, query }: NginxFile): ListedServer {
  const { host, port, weight, isBackup, isDrained } = server;
  const address = parseAddress(`${scheme}://${host}:${port}${prefix}`);
  return { ...address, query, engine: "comfyui", weight, isBackup, isDrained };
}

async function readText(file: string): Promise<string> {
  return readFile(file, "utf8").catch((cause: unknown) => {
    throw new AppError("not_found", `The file ${file} cannot be read.`, { cause });
  });
}

/** One `server` line of an upstream. */
interface UpstreamServer {
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
 * Reads the `upstream NAME { server …; }` blocks of an nginx file; ignores comments, includes and Unix sockets. Throws
 * `bad_request` when a block is not closed, as in a file that is being written.
 */
export function parseUpstreams(text: string): UpstreamServer[] {
  const found: UpstreamServer[] = [];
  /** Open blocks, outermost first: the name of an upstream, or null for other blocks. */
  const blocks: (string | null)[] = [];
  for (const { tokens, end } of statements(text)) {
    if (end === "{") blocks.push(tokens[0] === "upstream" ? (tokens[1] ?? "") : null);
    else if (end === null || (end === "}" && blocks.pop() === undefined)) throw unclosedBlock();
    else if (end === ";") found.push(...readServer(blocks.at(-1) ?? null, tokens));
  }
  if (blocks.length > 0) throw unclosedBlock();
  return found;
}

/** A directive, or the start or end of a block. */
interface Statement {
  readonly tokens: readonly string[];
  /** The token that ends the statement; null when the file ends before it. */
  readonly end: ";" | "{" | "}" | null;
}

function* statements(text: string): Generator<Statement> {
  let tokens: string[] = [];
  for (const [token] of text.matchAll(/#[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[;{}]|[^\s;{}]+/g)) {
    if (token.startsWith("#")) continue;
    if (token === ";" || token === "{" || token === "}") {
      yield { tokens, end: token };
      tokens = [];
    } else {
      tokens.push(/^["']/.test(token) ? token.slice(1, -1) : token);
    }
  }
  if (tokens.length > 0) yield { tokens, end: null };
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

function unclosedBlock(): AppError {
  return new AppError("bad_request", "The nginx file ends in the middle of a block.");
}

/**
 * The addresses of a host name when there are several; else the name itself, so that a changed address does no harm.
 * `known` holds the results of earlier look-ups, for when a look-up fails.
 */
async function resolveHost(host: string, known: Map<string, readonly string[]>): Promise<readonly string[]> {
  if (host.startsWith("[") || isIP(host)) return [host];
  const found = await lookup(host, { all: true }).catch(() => null);
  if (!found) return known.get(host) ?? [host];
  const hosts = severalAddresses(found) ?? [host];
  known.set(host, hosts);
  return hosts;
}

/** All IPv4 addresses, else all IPv6: one machine often has one of each. Null when there is only one address. */
function severalAddresses(found: readonly { address: string; family: number }[]): string[] | null {
  const family = found.some((each) => each.family === 4) ? 4 : 6;
  const addresses = [
    ...new Set(found.filter((each) => each.family === family).map(({ address }) => address)),
  ].toSorted();
  if (addresses.length < 2) return null;
  return addresses.map((address) => (family === 6 ? `[${address}]` : address));
}
