import { AppError } from "../platform/index.ts";
import type { Caller } from "./caller.ts";

/**
 * What an API key may do. `read`: look at and load what its owner has; `create`: make, change and delete; `spend`: what costs
 * money; and with an admin's account `admin`: what admins may, and `metrics`: the figures of the installation alone.
 */
export const keyRights = ["read", "create", "spend", "admin", "metrics"] as const;
export type KeyRight = (typeof keyRights)[number];

const adminRights: readonly KeyRight[] = ["admin", "metrics"];

/** The library's column holds rights by who they are for. */
const column = "atelier";

/** For the library's `permissions`. Null or all rights: a key that may what its owner may, also what comes later. */
export function toPermissions(rights: readonly KeyRight[] | null): Record<string, string[]> | undefined {
  return rights === null || rights.length === keyRights.length ? undefined : { [column]: [...rights] };
}

/** Null: all. What cannot be read gives no right. */
export function readRights(permissions: string | null): readonly KeyRight[] | null {
  if (permissions === null) return null;
  try {
    const held: unknown = Object(JSON.parse(permissions))[column];
    return Array.isArray(held) ? keyRights.filter((right) => held.includes(right)) : [];
  } catch {
    return [];
  }
}

/** The rights that hold for an owner: those of admins end with the role. */
export const rightsOf = (held: readonly KeyRight[], isAdmin: boolean): ReadonlySet<KeyRight> =>
  new Set(held.filter((right) => isAdmin || !adminRights.includes(right)));

/** Sessions and keys without a list have every right. */
export const hasRight = ({ rights }: Pick<Caller, "rights">, right: KeyRight): boolean =>
  rights === undefined || rights.has(right);

/** Throws `forbidden` for a key without the right. */
export function requireRight(caller: Pick<Caller, "rights">, right: KeyRight): void {
  if (!hasRight(caller, right))
    throw new AppError("forbidden", `This API key lacks the right "${right}".`, { details: { right } });
}

/** What a request of a method needs: to look, or to make and change. */
export const rightFor = (method: string): KeyRight =>
  ["GET", "HEAD", "OPTIONS"].includes(method) ? "read" : "create";
