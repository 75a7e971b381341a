import type { Services } from "../services/index.ts";
import { dispatch } from "./dispatch.ts";

interface Turn {
  hasBegun: boolean;
  readonly done: Promise<void>;
}

const turnsByServices = new WeakMap<Services, Map<string, Turn>>();

/**
 * Lets the next rows of a queue out after a change that is committed already. All callers of this process share one
 * dispatch at a time and the one after it, so that a crowd of changes costs two dispatches and one connection. Never
 * throws: a failure here must not look like a failure of that change, and only leaves the start to the sweep.
 */
export function letNextOut(services: Services, queue: string): Promise<void> {
  const turns = turnsOf(services);
  const last = turns.get(queue);
  // A turn that has not begun will see what this caller committed; one that has may not.
  if (last && !last.hasBegun) return last.done;
  const turn: Turn = { hasBegun: false, done: run() };
  turns.set(queue, turn);
  return turn.done;

  async function run(): Promise<void> {
    await last?.done;
    turn.hasBegun = true;
    await tryDispatch(services, queue);
    if (turns.get(queue) === turn) turns.delete(queue);
  }
}

function turnsOf(services: Services): Map<string, Turn> {
  const known = turnsByServices.get(services);
  if (known) return known;
  const turns = new Map<string, Turn>();
  turnsByServices.set(services, turns);
  return turns;
}

async function tryDispatch(services: Services, queue: string): Promise<void> {
  try {
    await dispatch(services, queue);
  } catch (error) {
    services.log.warn({ err: error, queue }, "dispatch failed, the sweep will start what waits");
  }
}
