import { sql, type SQL } from "drizzle-orm";

/** Windows that figures can be read for: how many steps of which length, the current one included. */
export const windows = {
  "1h": { unit: "minute", steps: 60 },
  "24h": { unit: "hour", steps: 24 },
  "7d": { unit: "hour", steps: 168 },
} as const;

export type FigureWindow = keyof typeof windows;
export const windowNames = ["1h", "24h", "7d"] as const satisfies readonly FigureWindow[];

const stepMs = { minute: 60_000, hour: 3_600_000 } as const;

/** Start of the first step, as SQL; steps are full minutes or hours of UTC. */
export function startOf(window: FigureWindow): SQL {
  const { unit, steps } = windows[window];
  return sql`date_trunc(${unit}, now(), 'UTC') - ${steps - 1} * interval '1 ${sql.raw(unit)}'`;
}

export function stepLengthMs(window: FigureWindow): number {
  return stepMs[windows[window].unit];
}
