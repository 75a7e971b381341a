export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object, or an empty one. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** The texts of a list; other members are left out. */
export function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/** The text as JSON; undefined when it is none. */
export function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

/** Which line of the server is played: 0.8.0, or the newer one with strict ids and `jobs/{id}/cancel`. */
export type ComfyMode = "0.8.0" | "new";

/** The device that `/system_stats` tells of. */
export interface ComfyDevice {
  /** Such as `cuda`, `cpu`, `mps`, `privateuseone`. */
  readonly type: string;
  /** Null where the driver does not know. */
  readonly vramTotalBytes: number | null;
}

/** What a proxy in front of a server wants from each request. */
export interface Guard {
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  /** Where a refused request is sent, as to a page for signing in; 401 by default. */
  readonly redirect?: string;
}

/** What a simulated server is like; everything has a default. */
export interface ComfyOptions {
  /** 0 (the default) takes a free port. */
  readonly port?: number;
  /** Time of one sampler step; 0 by default. */
  readonly stepMs?: number;
  readonly mode?: ComfyMode;
  /** A card with 24 GiB by default. */
  readonly device?: ComfyDevice;
  /** Folder name to file names; every model of the fixture graphs by default. */
  readonly models?: Readonly<Record<string, readonly string[]>>;
  /** Files of the folder `loras`, in place of those of `models`. */
  readonly loras?: readonly string[];
  /** Node classes that this server lacks. */
  readonly missingClasses?: readonly string[];
  /** Latent previews for every job; a job may ask for them by `extra_data.preview_method` too. */
  readonly previews?: "none" | "auto";
  /** A path in front of every route, as a proxy location has: "/comfy/gpu1". */
  readonly basePath?: string;
  /** "user:password" for HTTP basic auth. */
  readonly auth?: string;
  /** What the proxy in front wants besides; a request without it is refused. */
  readonly guard?: Guard;
  /** Folder of input, output and temp files; a temporary one that `close` removes by default. */
  readonly directory?: string;
}

export type SettledOptions = Required<
  Omit<ComfyOptions, "auth" | "guard" | "directory" | "models" | "loras">
> & {
  readonly auth: string | null;
  readonly guard: Guard | null;
  readonly models: Readonly<Record<string, readonly string[]>>;
};

const gib = 1024 ** 3;

/** Fills in the defaults; `models` are those that the server has. */
export function settleOptions(options: ComfyOptions, models: SettledOptions["models"]): SettledOptions {
  return {
    port: options.port ?? 0,
    stepMs: options.stepMs ?? 0,
    mode: options.mode ?? "0.8.0",
    device: options.device ?? { type: "cuda", vramTotalBytes: 24 * gib },
    models,
    missingClasses: options.missingClasses ?? [],
    previews: options.previews ?? "none",
    basePath: (options.basePath ?? "").replace(/\/+$/, ""),
    auth: options.auth ?? null,
    guard: options.guard ?? null,
  };
}
