import { createTRPCClient, httpBatchLink, splitLink } from "@trpc/client";
import type { AppRouter } from "@atelier/server/api";
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

/** Options of the links that send several calls as one HTTP request. */
const batch = {
  url: apiUrl,
  transformer: wire,
  fetch: (input: RequestInfo | URL | string, init?: object) => sessionFetch(input, init as RequestInit),
};

/** For the one procedure that needs no session: a visitor with a link does not become a guest. */
export const sessionlessApi = createTRPCClient<AppRouter>({
  links: [httpBatchLink({ url: apiUrl, transformer: wire })],
});

/** The typed client of the server's procedures; `live/stream.ts` has the one of subscriptions. */
export const api = createTRPCClient<AppRouter>({
  links: [
    splitLink({
      condition: (operation) => operation.type === "mutation",
      // The server refuses more than five mutations in one request.
      true: httpBatchLink({ ...batch, maxItems: 5 }),
      false: httpBatchLink({ ...batch, maxItems: 10 }),
    }),
  ],
});
