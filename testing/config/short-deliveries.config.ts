import { defineConfig } from "@atelier/server/platform";

/** The product's own, but the lock of a delivery is taken over after four seconds. */
export default defineConfig({
  queues: { "cpu-light": {} },
  timing: { deliveryLockMs: 4_000, deliverySendMs: 2_000 },
});
