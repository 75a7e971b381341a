import { readAwaitedNeeds } from "@atelier/server/jobs";
import { publishRefused, readOrders } from "@atelier/server/nodes";
import type { Services } from "@atelier/server/services";
import type { Workflow } from "@atelier/server/workflows";
import type { Consumers } from "./claims.ts";
import type { Incarnation } from "./presence.ts";
import { startLoop, type Loop } from "./loop.ts";
import type { LiveOffer } from "./offer/index.ts";
import type { ServerPool } from "./servers/index.ts";
import type { Space } from "./space.ts";

interface OrdersInput {
  readonly incarnation: Pick<Incarnation, "current">;
  readonly offer: Pick<LiveOffer, "setSettings">;
  readonly pool: Pick<ServerPool, "setDrained">;
  readonly consumers: Pick<Consumers, "setActive">;
  /** A full disk lets no job in. */
  readonly space: Pick<Space, "isEnough">;
  /** An admin wants the process to end. */
  readonly onRetire: () => void;
}

interface RepublishInput {
  readonly incarnation: Pick<Incarnation, "current">;
  readonly offer: Pick<LiveOffer, "refuse">;
  readonly workflows: readonly Workflow[];
}

const republishMs = 60_000;

/** Every second: what admins want of this node (settings, drained servers, its end). */
export function startOrders(services: Services, input: OrdersInput): Loop {
  return startLoop(services.log, "orders", async () => {
    const node = input.incarnation.current();
    const orders = node && (await readOrders(services, node.id));
    if (orders) {
      input.offer.setSettings(orders.settings);
      input.pool.setDrained(orders.drainedServers);
      input.consumers.setActive(orders.state === "active" && input.space.isEnough());
      if (orders.retireRequested) input.onRetire();
    }
    return services.config.timing.cancelPollMs;
  });
}

/** At each probe: which workflows open jobs wait for, so that a model that is back is found soon. */
export function startAwaiting(services: Services, pool: Pick<ServerPool, "setAwaited">): Loop {
  return startLoop(services.log, "awaited", async () => {
    pool.setAwaited(await readAwaitedNeeds(services));
    return services.config.timing.probeMs;
  });
}

/** Every minute: own workflows that another node's stood in the way of are tried again. */
export function startRepublishing(
  services: Services,
  { incarnation, offer, workflows }: RepublishInput,
): Loop {
  const own = workflows.filter(({ isBuiltIn }) => !isBuiltIn);
  return startLoop(services.log, "republish", async () => {
    const node = incarnation.current();
    if (node?.problems.some(({ what }) => own.some(({ name }) => name === what))) {
      const problems = await publishRefused(services, node.id, own);
      // Another incarnation was told of its own problems when it registered.
      if (incarnation.current()?.id === node.id) offer.refuse(problems.map(({ what }) => what));
    }
    return republishMs;
  });
}
