import type { Bells } from "@atelier/server/queue";
import type { Services } from "@atelier/server/services";
import type { Engine } from "@atelier/worker/engines";
import type { PausePoint } from "./script.ts";
import type { Say } from "./simulated-engine.ts";

type Pause = () => Promise<never>;

function createPause(point: PausePoint, say: Say): Pause {
  return () => {
    say(`paused ${point}`);
    return new Promise<never>(() => undefined);
  };
}

/** Services and engine of a worker that hangs for ever, after saying so, when it first gets to `point`. */
export function pauseAt(
  point: PausePoint | null,
  { services, engine, say }: { services: Services; engine: Engine; say: Say },
): { services: Services; engine: Engine } {
  if (point === null) return { services, engine };
  const pause = createPause(point, say);
  switch (point) {
    case "fetched":
      return { engine, services: { ...services, bells: pauseOnBell(services.bells, pause) } };
    case "claimed":
      return { engine, services: { ...services, disk: pauseOn(services.disk, "getMetaData", pause) } };
    case "running":
      return { services, engine: { ...engine, run: pause } };
    case "stored":
      return { engine, services: pauseAfterPut(services, pause) };
  }
}

function pauseOnBell(bells: Bells, pause: Pause): Bells {
  return { ...bells, consume: (queue, slots) => bells.consume(queue, slots, pause) };
}

/** The same object, but one method pauses instead. */
function pauseOn<T extends object>(target: T, method: keyof T, pause: Pause): T {
  return new Proxy(target, {
    get: (object, name) => (name === method ? pause : bound(object, name)),
  });
}

function bound<T extends object>(object: T, name: string | symbol): unknown {
  const value: unknown = Reflect.get(object, name, object);
  return typeof value === "function" ? value.bind(object) : value;
}

/** The transaction that completes a job is the first one after its objects were put. */
function pauseAfterPut(services: Services, pause: Pause): Services {
  let puts = 0;
  const filesPerOutput = 3;
  const disk = new Proxy(services.disk, {
    get: (object, name) => {
      if (name !== "put") return bound(object, name);
      return async (...args: Parameters<typeof object.put>) => {
        await object.put(...args);
        puts += 1;
      };
    },
  });
  const db = new Proxy(services.db, {
    get: (object, name) => (name === "transaction" && puts >= filesPerOutput ? pause : bound(object, name)),
  });
  return { ...services, disk, db };
}
