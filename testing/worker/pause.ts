import { type SQL, sql } from "drizzle-orm";
import { PgDialect } from "drizzle-orm/pg-core";
import type { ProviderClient, ProviderName } from "@atelier/server/providers";
import type { Services } from "@atelier/server/services";
import type { Engine, EngineContext } from "@atelier/worker/engines";
import type { PausePoint, Say } from "./simulated-engine.ts";

/** Stops the first who gets here for ever, after saying so; others go on with their work. */
type Pause = <T>(work: () => Promise<T>) => Promise<T>;

interface Paused {
  readonly services: Services;
  readonly engines: readonly Engine[];
  readonly clientOf: (name: ProviderName) => ProviderClient;
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

/** The parts of a worker of which one job stops at each of the points, in the order in which they get there. */
export function pauseAt(points: readonly PausePoint[], { say, ...start }: Paused & { say: Say }): Paused {
  return points.reduce<Paused>(
    (paused, point) => ({ ...paused, ...pauseOnce(point, paused, createPause(point, say)) }),
    start,
  );
}

/** The parts that are changed. */
function pauseOnce(
  point: PausePoint,
  { services, engines, clientOf }: Paused,
  pause: Pause,
): Partial<Paused> {
  switch (point) {
    case "fetched":
      return { services: pauseBeforeClaim(services, pause) };
    case "claimed":
      return { services: { ...services, disk: pauseOn(services.disk, "open", pause) } };
    case "running":
      return { engines: engines.map((engine) => pauseRun(engine, pause)) };
    case "uploaded":
      return { engines: engines.map((engine) => pauseSubmitting(engine, before(pause))) };
    case "noted":
      return { engines: engines.map((engine) => pauseSubmitting(engine, after(pause))) };
    case "reserved":
      return { clientOf: (name) => pauseSubmit(clientOf(name), before(pause)) };
    case "answered":
      return { clientOf: (name) => pauseSubmit(clientOf(name), after(pause)) };
    case "asked":
      return { clientOf: (name) => pauseGet(clientOf(name), pause) };
    case "made":
      return { services: { ...services, disk: pauseOn(services.disk, "put", pause) } };
    case "stored":
      return { services: pauseAfterPut(services, () => pause(forEver)) };
    case "completed":
      return { services: pauseAfterPut(services, endAfterCompletion(services, pause)) };
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

/** Adds a pause before or after a call. */
type Wrap = <Input extends unknown[], T>(
  call: (...input: Input) => Promise<T>,
) => (...input: Input) => Promise<T>;

function before(pause: Pause): Wrap {
  return (call) =>
    (...input) =>
      pause(() => call(...input));
}

function after(pause: Pause): Wrap {
  return (call) =>
    async (...input) => {
      const result = await call(...input);
      await pause(() => Promise.resolve());
      return result;
    };
}

type Submitting = EngineContext["onSubmitting"];

function pauseSubmitting(engine: Engine, wrap: Wrap): Engine {
  return {
    ...engine,
    run: (task, context) => {
      const onSubmitting: Submitting = wrap((submission) => context.onSubmitting(submission));
      return engine.run(task, { ...context, onSubmitting });
    },
  };
}

function pauseSubmit(client: ProviderClient, wrap: Wrap): ProviderClient {
  const submit: ProviderClient["submit"] = wrap((...input) => client.submit(...input));
  return { ...client, submit };
}

function pauseGet(client: ProviderClient, pause: Pause): ProviderClient {
  return { ...client, get: (...input) => pause(() => client.get(...input)) };
}

type Disk = Services["disk"];

const isOfPicture = (key: string) => key.startsWith("users/") || key.startsWith("jobs/");

/** What jobs read and write; the duties of a worker look at thumbnails. */
const isOriginal = (key: string) => isOfPicture(key) && key.includes("/original.");

/** The same disk, but the first call of one method for a picture pauses. */
function pauseOn(disk: Disk, method: "open" | "put", pause: Pause): Disk {
  return new Proxy(disk, {
    get: (object, name) => {
      const value = bound(object, name);
      if (name !== method || typeof value !== "function") return value;
      return (key: string, ...rest: unknown[]) =>
        isOriginal(key) ? pause(() => value(key, ...rest)) : value(key, ...rest);
    },
  });
}

function bound<T extends object>(object: T, name: string | symbol): unknown {
  const value: unknown = Reflect.get(object, name, object);
  return typeof value === "function" ? value.bind(object) : value;
}

/** What becomes of a statement or transaction of a process whose result is stored. */
type Then = (run: () => Promise<unknown>) => Promise<unknown>;

/** One after the other, until one has completed a job; none gets through after it, so that this process tells nobody. */
function endAfterCompletion({ db }: Services, pause: Pause): Then {
  let last: Promise<unknown> = Promise.resolve();
  const runAndLook = async (run: () => Promise<unknown>) => {
    const result = await run();
    const completed = await db.execute(sql`select 1 from jobs where status = 'completed'`);
    return completed.length > 0 ? pause(forEver) : result;
  };
  return (run) => {
    const ended = last.then(() => runAndLook(run));
    last = ended.catch(() => undefined);
    return ended;
  };
}

/**
 * The statement that completes a job is the first one after its objects were put; so that it cannot slip by, no
 * statement of that kind and no transaction of the process gets through any more.
 */
function pauseAfterPut(services: Services, then: Then): Services {
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
    get: (object, name) => {
      const value = bound(object, name);
      if ((name !== "transaction" && name !== "execute") || typeof value !== "function") return value;
      return (...args: unknown[]) => (puts < filesPerOutput ? value(...args) : then(() => value(...args)));
    },
  });
  return { ...services, disk, db };
}
