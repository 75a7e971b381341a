import type { Stage } from "./stage.ts";

/** Replaces the clocks of this process and of the database: the functions of the product read both, and nothing of it knows. */
export interface Clock {
  nowMs(): number;
  set(ms: number): Promise<void>;
}

/**
 * `now()` and `clock_timestamp()` are found in the schema of the simulation before those of PostgreSQL. The time is a sequence:
 * all sessions see it at once, and each `clock_timestamp()` is a microsecond later than the last.
 */
export async function openClock(stage: Stage): Promise<Clock> {
  const beginMs = Date.UTC(2026, 0, 5, 9);
  await stage.run(`
    create schema fleet_clock;
    create sequence fleet_clock.us start ${beginMs * 1_000};
    select nextval('fleet_clock.us');
    create function fleet_clock.now() returns timestamptz language sql stable as
      $$ select to_timestamp(last_value / 1e6) from fleet_clock.us $$;
    create function fleet_clock.clock_timestamp() returns timestamptz language sql volatile as
      $$ select to_timestamp(nextval('fleet_clock.us') / 1e6) $$;
    do $$ declare c record; begin
      for c in select table_name, column_name,
          regexp_replace(column_default, '(now|clock_timestamp)\\(\\)', 'fleet_clock.\\1()', 'g') as moved
        from information_schema.columns
        where table_schema = 'public' and column_default ~ '(now|clock_timestamp)\\(\\)'
      loop execute format('alter table public.%I alter column %I set default %s', c.table_name, c.column_name, c.moved); end loop;
      execute format('alter database %I set search_path = public, fleet_clock, pg_catalog', current_database());
      execute format('alter database %I set synchronous_commit = off', current_database());
    end $$`);
  let nowMs = 0;
  performance.now = () => nowMs;
  Date.now = () => beginMs + nowMs;
  return {
    nowMs: () => nowMs,
    async set(ms) {
      nowMs = ms;
      await stage.query(
        "select setval('fleet_clock.us', greatest(last_value, $1::bigint)) from fleet_clock.us",
        [Math.round((beginMs + ms) * 1_000)],
      );
    },
  };
}

interface Event {
  readonly atMs: number;
  readonly run: () => Promise<void>;
}

/** Things to come, the next one first. */
export function createAgenda() {
  const events: Event[] = [];
  return {
    add(atMs: number, run: Event["run"]) {
      let low = 0;
      for (let high = events.length; low < high;) {
        const middle = (low + high) >> 1;
        if ((events[middle]?.atMs ?? 0) > atMs) low = middle + 1;
        else high = middle;
      }
      events.splice(low, 0, { atMs, run });
    },
    next: () => events.pop(),
  };
}
