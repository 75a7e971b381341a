import { AppError } from "./errors.ts";
import { keptBy } from "./kept.ts";

/**
 * Places of one process for what is held open or in memory. A new guest costs nothing and a self-made account little, so all
 * of them together may fill only a part: an account that somebody let in always gets a place besides them.
 */
export const places = {
  answer: { perUser: 4, all: 64, message: "Too many pictures are waited for at once. Wait for one of them." },
  fetch: { perUser: 2, all: 16, message: "Too many pictures are fetched at once. Wait for one of them." },
  trial: { perUser: 2, all: 8, message: "Too many prompts are tried at once. Wait for one of them." },
  stream: { perUser: 20, all: 10_000, message: "Too many event streams are open. Close one, or try later." },
  export: {
    perUser: 1,
    all: 4,
    message: "This server is busy with other exports. Try again in a few minutes.",
  },
  // Guests have no keys, and their pages follow answers by event streams.
  socket: {
    perUser: 10,
    all: 1_000,
    guests: 0,
    message: "Too many connections are open. Close one, or try later.",
  },
  // The page sends three files at once, programs one for each of their own users.
  upload: { perUser: 8, all: 32, message: "Too many files are received at once. Wait for one of them." },
  body: { perUser: 2, all: 8, message: "Too many pictures are received at once. Wait for one of them." },
} as const satisfies Record<string, PlaceRules>;

interface PlaceRules {
  readonly perUser: number;
  /** Of one process. */
  readonly all: number;
  /** Of them those that guests may fill; half by default. */
  readonly guests?: number;
  readonly message: string;
}

export type PlaceKind = keyof typeof places;

/** Of whom a place is. */
export interface Holder {
  readonly userId: string;
  readonly isGuest?: boolean | undefined;
  /** An account that nobody invited; its places count with those of guests. */
  readonly isSelfMade?: boolean | undefined;
}

const guestShare = 0.5;
/** With the guests. */
const uninvitedShare = 0.75;

/** How many places guests may fill, and guests and self-made accounts together. */
export function sharesOf(kind: PlaceKind): { readonly guests: number; readonly uninvited: number } {
  const { all, guests = Math.floor(all * guestShare) }: PlaceRules = places[kind];
  return { guests, uninvited: Math.floor(all * uninvitedShare) };
}

const takenIn = keptBy((_studio: object) => new Map<string, number>());

/**
 * Takes a place for as long as the returned function is not called; calling it again does nothing. `studio` is what the
 * places are counted for, such as the services. Throws `rate_limited` where none is left.
 */
export function takePlace(studio: object, kind: PlaceKind, holder: Holder): () => void {
  const taken = takenIn(studio);
  const limits = limitsOf(kind, holder);
  if (limits.some(({ key, max }) => (taken.get(key) ?? 0) >= max))
    throw new AppError("rate_limited", places[kind].message);
  for (const { key } of limits) taken.set(key, (taken.get(key) ?? 0) + 1);
  let isHeld = true;
  return () => {
    if (!isHeld) return;
    isHeld = false;
    for (const { key } of limits) {
      const left = (taken.get(key) ?? 1) - 1;
      if (left > 0) taken.set(key, left);
      else taken.delete(key);
    }
  };
}

/** What a place counts against, narrowest first. */
function limitsOf(kind: PlaceKind, { userId, isGuest, isSelfMade }: Holder) {
  const { perUser, all } = places[kind];
  const { guests, uninvited } = sharesOf(kind);
  return [
    { key: `${kind} of ${userId}`, max: perUser },
    ...(isGuest ? [{ key: `${kind} of guests`, max: guests }] : []),
    ...(isGuest || isSelfMade ? [{ key: `${kind} of uninvited`, max: uninvited }] : []),
    { key: kind, max: all },
  ];
}
