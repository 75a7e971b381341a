import { globSync, readFileSync } from "node:fs";
import path from "node:path";

/** Each folder directly below these is a room, and so is each file. */
const trees = ["app", "server", "worker"] as const;

const noProduct = /(\.test\.tsx?|\.d\.ts)$/;
const anyImport = /\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g;

interface RoomImport {
  readonly file: string;
  readonly target: string;
}

export interface RoomCircle {
  /** In the order in which they import each other; the last imports the first. */
  readonly rooms: readonly string[];
  /** Of all steps around the circle the one with the fewest imports: the cheapest to cut. */
  readonly imports: readonly RoomImport[];
}

const roomOf = (file: string) => file.split("/").slice(0, 2).join("/");

/** Imports of other rooms, by the room that has them and the room that they lead to. */
type Doors = ReadonlyMap<string, ReadonlyMap<string, readonly RoomImport[]>>;

function findDoors(rootDir: string, tree: string): Doors {
  const doors = new Map<string, Map<string, RoomImport[]>>();
  for (const file of globSync(`${tree}/**/*.{ts,tsx}`, { cwd: rootDir }).toSorted()) {
    if (noProduct.test(file)) continue;
    const room = roomOf(file);
    const own = doors.get(room) ?? new Map<string, RoomImport[]>();
    doors.set(room, own);
    for (const [, specifier = ""] of readFileSync(path.join(rootDir, file), "utf8").matchAll(anyImport)) {
      const target = path.join(path.dirname(file), specifier);
      const other = roomOf(target);
      if (other === room || !target.startsWith(`${tree}/`)) continue;
      own.set(other, [...(own.get(other) ?? []), { file, target }]);
    }
  }
  return doors;
}

/** The shortest way from one room to another; null without any. */
function findWay(doors: Doors, from: string, to: string): readonly string[] | null {
  const seen = new Set([from]);
  const ways: (readonly string[])[] = [[from]];
  for (const way of ways) {
    for (const next of doors.get(way.at(-1) ?? "")?.keys() ?? []) {
      if (next === to) return [...way, to];
      if (seen.has(next)) continue;
      seen.add(next);
      ways.push([...way, next]);
    }
  }
  return null;
}

function weakestStep(doors: Doors, rooms: readonly string[]): readonly RoomImport[] {
  const steps = rooms.map((room, at) => doors.get(room)?.get(rooms[(at + 1) % rooms.length] ?? "") ?? []);
  return steps.toSorted((a, b) => a.length - b.length)[0] ?? [];
}

/** Rooms (first folders of `app`, `server`, `worker`) that import each other, directly or through others; types count, too. */
export function findRoomCircles(rootDir: string): RoomCircle[] {
  const found = new Map<string, RoomCircle>();
  for (const doors of trees.map((tree) => findDoors(rootDir, tree)))
    for (const room of [...doors.keys()].toSorted()) {
      const way = findWay(doors, room, room);
      if (way === null) continue;
      const rooms = way.slice(0, -1);
      const key = rooms.toSorted().join(" ");
      if (!found.has(key)) found.set(key, { rooms, imports: weakestStep(doors, rooms) });
    }
  return [...found.values()];
}
