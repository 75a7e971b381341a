import type { Services } from "../services/index.ts";
import { dispatch } from "./dispatch.ts";

/**
 * Lets the next rows of a queue out after a change that is committed already. Never throws: a failure here must not
 * look like a failure of that change, and only leaves the start to the sweep.
 */
export async function letNextOut(services: Services, queue: string): Promise<void> {
  try {
    await dispatch(services, queue);
  } catch (error) {
    services.log.warn({ err: error, queue }, "dispatch failed, the sweep will start what waits");
  }
}
