import type { SQL } from "drizzle-orm";
import { PgDialect } from "drizzle-orm/pg-core";
import type { Services } from "@atelier/server/services";
import type { Engine, EngineContext } from "@atelier/worker/engines";
import type { PausePoint, Say } from "./simulated-engine.ts";

/** Stops the first who gets here for ever, after saying so; others go on with their work. */
type Pause = <T>(work: () => Promise<T>) => Promise<T>;

interface Paused {
  readonly services: Services;
  readonly engines: readonly Engine[];
}

function createPause(point: PausePoint, say: Say): Pause {
  let isUsed = false;
  return (work) => {
    if (isUsed) return work();
    isUsed = true;
    say(`paused ${point}`);
    return forEver();
  };
}

function forEver(): Promise<never> {
  return new Promise<never>(() => undefined);
}

/** Services and engines of a worker of which one job stops at each of the points, in the order in which they get there. */
export function pauseAt(
  points: readonly PausePoint[],
  { services, engines, say }: Paused & { say: Say },
): Paused {
  const start: Paused = { services, engines };
  return points.reduce((paused, point) => pauseOnce(point, paused, createPause(point, say)), start);
}

function pauseOnce(point: PausePoint, { services, engines }: Paused, pause: Pause): Paused {
  switch (point) {
    case "fetched":
      return { engines, services: pauseBeforeClaim(services, pause) };
    case "claimed":
      return { engines, services: { ...services, disk: pauseOn(services.disk, "open", pause) } };
    case "running":
      return { services, engines: engines.map((engine) => pauseRun(engine, pause)) };
    case "uploaded":
      return { services, engines: engines.map((engine) => pauseSubmitting(engine, before(pause))) };
    case "noted":
      return { services, engines: engines.map((engine) => pauseSubmitting(engine, after(pause))) };
    case "made":
      return { engines, services: { ...services, disk: pauseOn(services.disk, "put", pause) } };
    case "stored":
      return { engines, services: pauseAfterPut(services, pause) };
  }
}

/** Pauses with the first bell. Until then the sweeps of the process, which need no bell, find nothing to claim. */
function pauseBeforeClaim(services: Services, pause: Pause): Services {
  const { bells } = services;
  return {
    ...services,
    db: withoutClaims(services.db),
    bells: {
      ...bells,
      consume: (queue, slots, onBell) => bells.consume(queue, slots, (bell) => pause(() => onBell(bell))),
    },
  };
}

const dialect = new PgDialect();

function withoutClaims(db: Services["db"]): Services["db"] {
  return new Proxy(db, {
    get: (object, name) => {
      if (name !== "execute") return bound(object, name);
      return (query: SQL) => {
        const isClaim = dialect.sqlToQuery(query).sql.includes("attempt + 1");
        return isClaim ? Promise.resolve([]) : object.execute(query);
      };
    },
  });
}

function pauseRun(engine: Engine, pause: Pause): Engine {
  return { ...engine, run: (task, context) => pause(() => engine.run(task, context)) };
}

type Submitting = EngineContext["onSubmitting"];

function pauseSubmitting(engine: Engine, wrap: (submitting: Submitting) => Submitting): Engine {
  return {
    ...engine,
    run: (task, context) => {
      const onSubmitting = wrap((submission) => context.onSubmitting(submission));
      return engine.run(task, { ...context, onSubmitting });
    },
  };
}

function before(pause: Pause) {
  return (submitting: Submitting): Submitting => {
    return (submission) => pause(() => submitting(submission));
  };
}

function after(pause: Pause) {
  return (submitting: Submitting): Submitting => {
    return async (submission) => {
      await submitting(submission);
      await pause(() => Promise.resolve());
    };
  };
}

type Disk = Services["disk"];

const isOfPicture = (key: string) => key.startsWith("users/") || key.startsWith("jobs/");

/** The same disk, but the first call of one method for an object of a picture pauses. */
function pauseOn(disk: Disk, method: "open" | "put", pause: Pause): Disk {
  return new Proxy(disk, {
    get: (object, name) => {
      const value = bound(object, name);
      if (name !== method || typeof value !== "function") return value;
      return (key: string, ...rest: unknown[]) =>
        isOfPicture(key) ? pause(() => value(key, ...rest)) : value(key, ...rest);
    },
  });
}

function bound<T extends object>(object: T, name: string | symbol): unknown {
  const value: unknown = Reflect.get(object, name, object);
  return typeof value === "function" ? value.bind(object) : value;
}

/**
 * The statement that completes a job is the first one after its objects were put; so that it cannot slip by, no
 * statement of that kind and no transaction of the process gets through any more.
 */
function pauseAfterPut(services: Services, pause: Pause): Services {
  let puts = 0;
  const filesPerOutput = 3;
  const disk = new Proxy(services.disk, {
    get: (object, name) => {
      if (name !== "put") return bound(object, name);
      return async (...args: Parameters<typeof object.put>) => {
        await object.put(...args);
        if (isOfPicture(args[0])) puts += 1;
      };
    },
  });
  const db = new Proxy(services.db, {
    get: (object, name) =>
      (name === "transaction" || name === "execute") && puts >= filesPerOutput
        ? () => pause(forEver)
        : bound(object, name),
  });
  return { ...services, disk, db };
}
