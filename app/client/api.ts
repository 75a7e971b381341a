import type { TRPCClient } from "@trpc/client";
import type { AppRouter } from "@atelier/server/api";
import { fetchNow } from "./clock.ts";
import { sessionFetch } from "./session.ts";

/** 128 random bits in hex; `crypto.randomUUID` is missing over plain http on a LAN address. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

type Leaf = readonly [type: string, inner?: Inner];
type Tree = Leaf | Inner;
interface Inner {
  readonly [path: string]: Tree;
}

/** As superjson writes: the value as JSON, and what of it was more than JSON, as a tree of paths. */
interface Wired {
  readonly json?: unknown;
  readonly meta?: { readonly values?: Tree; readonly v?: number };
}

const isLeaf = (tree: Tree): tree is Leaf => Array.isArray(tree);

const readers: Readonly<Record<string, (value: unknown) => unknown>> = {
  Date: (value) => new Date(String(value)),
  undefined: () => undefined,
  number: Number,
};

function keysOf(path: string): string[] {
  const keys = path.match(/(?:\\.|[^.\\])+/g) ?? [path];
  return keys.map((key) => key.replaceAll(/\\(.)/g, "$1"));
}

const pathOf = (keys: readonly string[]) =>
  keys.map((key) => key.replaceAll(/[.\\]/g, String.raw`\$&`)).join(".");

function readInner(value: unknown, inner: Inner): void {
  for (const [path, tree] of Object.entries(inner)) {
    const keys = keysOf(path);
    const last = keys.pop() ?? "";
    const holder = keys.reduce<unknown>((part, key) => Reflect.get(Object(part), key), value);
    Reflect.set(Object(holder), last, read(Reflect.get(Object(holder), last), tree));
  }
}

function read(value: unknown, tree: Tree): unknown {
  if (!isLeaf(tree)) {
    readInner(value, tree);
    return value;
  }
  const [type, inner] = tree;
  if (inner !== undefined) readInner(value, inner);
  const reader = readers[type];
  if (reader === undefined) throw new TypeError(`The browser cannot read a ${type}.`);
  return reader(value);
}

function findDates(value: unknown, keys: readonly string[], found: Record<string, Tree>): void {
  // JSON would make it null, which a field may take for "none".
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`${value} cannot be sent.`);
  if (value instanceof Date) found[pathOf(keys)] = ["Date"];
  else if (typeof value === "object" && value !== null)
    for (const [key, inner] of Object.entries(value)) findDates(inner, [...keys, key], found);
}

/**
 * What the browser needs of superjson, with which the server writes and reads: dates, absent values and numbers that JSON
 * lacks. What is undefined is left out. Reading changes what is read. Throws `TypeError` for a type that no answer has, and for a
 * number that JSON lacks in what is sent.
 */
export const wire = {
  serialize(value: unknown): Wired {
    if (value instanceof Date) return { json: value, meta: { values: ["Date"] } };
    const values: Record<string, Tree> = {};
    findDates(value, [], values);
    return { json: value, ...(Object.keys(values).length > 0 ? { meta: { values, v: 1 } } : {}) };
  },
  deserialize({ json, meta }: Wired): unknown {
    return meta?.values === undefined ? json : read(json, meta.values);
  },
};

/** Where procedures are called. */
export const apiUrl = "/api/trpc";

type Fetch = (address: string, init: RequestInit) => Promise<Response>;

interface Way {
  readonly method: "GET" | "POST";
  readonly fetch: Fetch;
  /** Calls of one moment in one request; a call that goes alone is sent at once. */
  readonly most: number;
}

interface Call {
  readonly path: string;
  readonly input: Wired;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Aborts when all of the calls were given up. */
function abortOf(calls: readonly Call[]): AbortSignal {
  const all = new AbortController();
  let left = calls.length;
  const note = () => {
    left -= 1;
    if (left === 0) all.abort();
  };
  for (const { signal } of calls) signal?.addEventListener("abort", note, { once: true });
  return all.signal;
}

/** The answer to each call. An answer that is no list is one to all of them. */
async function ask(calls: readonly Call[], { method, fetch }: Way): Promise<readonly unknown[]> {
  const paths = calls.map(({ path }) => path).join(",");
  const input = JSON.stringify(Object.fromEntries(calls.map((call, at) => [at, call.input])));
  const address = `${apiUrl}/${paths}?batch=1`;
  const signal = abortOf(calls);
  const answer = await (method === "GET"
    ? fetch(`${address}&input=${encodeURIComponent(input)}`, { signal })
    : fetch(address, { method, signal, body: input, headers: { "content-type": "application/json" } }));
  const told: unknown = await answer.json();
  return Array.isArray(told) ? told : calls.map(() => told);
}

/** As the server answers a call. */
interface Answer {
  readonly result?: { readonly data?: Wired };
  readonly error?: Wired;
}

/** Throws `TypeError` for an answer that cannot be read. */
function settle({ resolve, reject }: Call, answer: unknown): void {
  // Safe cast: what is no object has neither.
  const { result, error } = Object(answer) as Answer;
  if (result !== undefined) resolve(wire.deserialize(result.data ?? {}));
  else if (error === undefined) reject(new TypeError("The server gave no answer."));
  else reject(Object.assign(new Error("The server refused."), Object(wire.deserialize(error))));
}

async function send(calls: readonly Call[], way: Way): Promise<void> {
  try {
    const answers = await ask(calls, way);
    for (const [at, call] of calls.entries()) {
      // An answer that cannot be read is one call's failure.
      try {
        settle(call, answers[at]);
      } catch (error) {
        call.reject(error);
      }
    }
  } catch (error) {
    for (const { reject } of calls) reject(error);
  }
}

type Ask = (path: string, input: unknown, signal?: AbortSignal) => Promise<unknown>;

function createWay(way: Way): Ask {
  let waiting: Call[] = [];
  const sendAll = () => {
    const calls = waiting.filter(({ signal }) => signal?.aborted !== true);
    waiting = [];
    for (let at = 0; at < calls.length; at += way.most) void send(calls.slice(at, at + way.most), way);
  };
  return (path, value, signal) =>
    new Promise((resolve, reject) => {
      const input = wire.serialize(value);
      signal?.throwIfAborted();
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      waiting.push({ path, input, signal, resolve, reject });
      if (way.most === 1) sendAll();
      else if (waiting.length === 1) setTimeout(sendAll);
    });
}

interface Ways {
  readonly fetch: Fetch;
  /** How many queries, and how many mutations, one request may have. */
  readonly queries: number;
  readonly mutations: number;
}

/**
 * The typed client of the server's procedures, by tRPC's protocol of batches; a refusal rejects with its `message`, `code`
 * and `data`. tRPC's own client has 12 kB, most of it for servers, sockets and streams; `live/stream.ts` uses it for subscriptions,
 * for which this one throws `TypeError`.
 */
export function createClient({ fetch, queries, mutations }: Ways): TRPCClient<AppRouter> {
  const asks: Readonly<Record<string, Ask>> = {
    query: createWay({ method: "GET", fetch, most: queries }),
    mutate: createWay({ method: "POST", fetch, most: mutations }),
  };
  const at = (path: readonly string[]): unknown =>
    new Proxy(() => undefined, {
      // Else a client that is awaited would be called.
      get: (_, name) => (typeof name !== "string" || name === "then" ? undefined : at([...path, name])),
      apply: (_, __, [input, options]: [unknown, { readonly signal?: AbortSignal }?]) => {
        const call = asks[path.at(-1) ?? ""];
        if (call === undefined) throw new TypeError(`${path.join(".")} cannot be called here.`);
        return call(path.slice(0, -1).join("."), input, options?.signal);
      },
    });
  // Safe cast: each path of the type is one of the proxy.
  return at([]) as TRPCClient<AppRouter>;
}

/** The server refuses more than five mutations in one request. */
const usual = { queries: 10, mutations: 5 };

/** For the one procedure that needs no session: a visitor with a link does not become a guest. */
export const sessionlessApi = createClient({ fetch: fetchNow, ...usual });

/** The typed client of the server's procedures. */
export const api = createClient({ fetch: sessionFetch, ...usual });
