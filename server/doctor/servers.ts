import { builtInNames } from "../workflows/index.ts";
import { type CheckResult, failed, passed, warned } from "./checks.ts";

/** A ComfyUI or IOPaint server as somebody saw it: the doctor just now, or a worker at its last probe. */
export interface SeenServer {
  readonly label: string;
  readonly engine: "comfyui" | "iopaint";
  /** What answers there instead; empty: nothing does. */
  readonly said: string;
  /** Why nothing answers. */
  readonly noAnswer: string;
  /** Who looked; null: this command. */
  readonly seenFrom: string | null;
  /** Why it cannot be used; null when it can. */
  readonly reason: string | null;
  readonly version: string | null;
  readonly device: string | null;
  /** Such as `comfyui/upscale_model`. */
  readonly needs: readonly string[];
  readonly models: readonly string[];
  /** What it lacks for each other workflow or kind. */
  readonly missing: Readonly<Record<string, readonly string[]>>;
  /** Why its socket, which tells of progress, does not open; null: it opens, or nobody tried. */
  readonly socketReason: string | null;
}

const titles = { comfyui: "ComfyUI", iopaint: "IOPaint" } as const;
const addresses = { comfyui: "COMFYUI_URLS", iopaint: "IOPAINT_URLS" } as const;
const shortName = (need: string) => need.slice(need.indexOf("/") + 1);

/**
 * A line for each server, one for each workflow of one's own that it cannot run, with what it lacks, and one for all that
 * ship with the product: hardly any server has the models of each.
 */
export function judgeServers(servers: readonly SeenServer[]): CheckResult[] {
  const able = new Set(servers.flatMap(({ needs }) => needs.map(shortName)));
  return servers.flatMap((server) => {
    const title = `${titles[server.engine]} ${server.label}`;
    const name = server.seenFrom === null ? title : `${title}, seen from ${server.seenFrom}`;
    return [judgeServer(name, server), ...lacksOf(name, server, able)];
  });
}

function judgeServer(name: string, server: SeenServer): CheckResult {
  if (server.reason !== null) {
    // Who answers is there: its own words say what it wants.
    const message =
      server.said === ""
        ? `${server.reason} Start it, or correct ${addresses[server.engine]}.`
        : server.reason;
    return { ...failed(name, message), said: server.said, noAnswer: server.noAnswer };
  }
  const about = [server.version, server.device].filter(Boolean).join(", ");
  const names = server.needs.map(shortName).join(", ");
  const runs = names === "" ? "runs nothing" : `runs ${names}`;
  const models = server.engine === "iopaint" ? server.models.join(", ") : "";
  const message = [about, models === "" ? runs : `${runs} with ${models}`].filter(Boolean).join("; ");
  if (server.socketReason !== null) {
    const advice = "let the proxy before it pass WebSockets at /ws; without it progress comes late";
    return { ...warned(name, `${message}; its socket does not open, ${advice}`), said: server.socketReason };
  }
  return server.needs.length === 0 ? warned(name, message) : passed(name, message);
}

function lacksOf(name: string, { missing }: SeenServer, able: ReadonlySet<string>): CheckResult[] {
  const lacking = Object.entries(missing);
  const own = lacking.filter(([what]) => !builtInNames.has(what));
  const lines = own.map(([what, lacks]) => {
    const listed = lacks.join(", ");
    return able.has(what)
      ? passed(`${name}, ${what}`, `cannot run: it lacks ${listed}; another server runs it`)
      : warned(`${name}, ${what}`, `cannot run: it lacks ${listed}; add it there, or do without`);
  });
  return [
    ...lines,
    ...lacksOfShipped(
      name,
      lacking.filter(([what]) => builtInNames.has(what)),
    ),
  ];
}

const withoutInput = (lack = "") => lack.replace(/ \([^()]*\)$/, "");

function lacksOfShipped(name: string, lacking: readonly (readonly [string, readonly string[]])[]) {
  if (lacking.length === 0) return [];
  const each = lacking
    .toSorted(([, a], [, b]) => a.length - b.length)
    .map(([what, lacks]) =>
      lacks.length === 1 ? `${what} (${withoutInput(lacks[0])})` : `${what} (${lacks.length} things)`,
    );
  const message = `cannot run ${lacking.length} of the workflows that ship with the product, until it has what they lack: ${each.join(", ")}`;
  return [passed(`${name}, shipped workflows`, message)];
}
