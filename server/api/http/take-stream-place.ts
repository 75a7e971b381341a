import { AppError } from "../../platform/index.ts";
import type { Services } from "../../services/index.ts";
import { streamLimits } from "../stream-limits.ts";

const openByServices = new WeakMap<Services, Map<string, number>>();

/** Counts one more open stream of a user until the returned function is called. Throws `rate_limited` above the limit. */
export function takeStreamPlace(services: Services, userId: string): () => void {
  const openByUser = openByServices.get(services) ?? new Map<string, number>();
  openByServices.set(services, openByUser);
  const open = openByUser.get(userId) ?? 0;
  if (open >= streamLimits.openPerUser)
    throw new AppError("rate_limited", `You have ${open} open event streams, which is the limit.`);
  openByUser.set(userId, open + 1);
  let isGivenBack = false;
  return () => {
    if (isGivenBack) return;
    isGivenBack = true;
    const left = (openByUser.get(userId) ?? 1) - 1;
    if (left === 0) openByUser.delete(userId);
    else openByUser.set(userId, left);
  };
}
