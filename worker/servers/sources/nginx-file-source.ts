import { readFile } from "node:fs/promises";
import { AppError } from "@atelier/server/platform";
import { parseAddress } from "../address.ts";
import { parseUpstreams, type UpstreamServer } from "./nginx-file.ts";
import { resolveHost } from "./resolve-host.ts";
import type { ListedServer, Source } from "./source.ts";

export interface NginxFile {
  readonly file: string;
  /** Null: every upstream of the file. */
  readonly upstream: string | null;
  readonly scheme: "http" | "https";
  /** Path before the routes of each server, such as `/comfy`. */
  readonly prefix: string;
}

/** The servers of an upstream in an nginx file that both can read. A name that stands for several addresses is several servers. */
export function createNginxFileSource(config: NginxFile): Source {
  const { file, upstream } = config;
  const known = new Map<string, readonly string[]>();
  return {
    name: `nginx:${file}${upstream ? `#${upstream}` : ""}`,
    async read() {
      const servers = choose(parseUpstreams(await readText(file)), config);
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

function choose(servers: UpstreamServer[], { file, upstream }: NginxFile): UpstreamServer[] {
  const chosen = upstream ? servers.filter((server) => server.upstream === upstream) : servers;
  // nginx itself refuses an upstream without servers, so this is a wrong name or a file that is being changed.
  if (chosen.length === 0)
    throw new AppError("not_found", `There is no server of upstream ${upstream ?? "(any)"} in ${file}.`);
  return chosen;
}

function toListed(server: UpstreamServer, { scheme, prefix }: NginxFile): ListedServer {
  const { host, port, weight, isBackup, isDrained } = server;
  const address = parseAddress(`${scheme}://${host}:${port}${prefix}`);
  return { ...address, engine: "comfyui", weight, isBackup, isDrained };
}

async function readText(file: string): Promise<string> {
  return readFile(file, "utf8").catch((cause: unknown) => {
    throw new AppError("not_found", `The file ${file} cannot be read.`, { cause });
  });
}
