/**
 * Leases: how one process at a time owns a piece of work, and how another takes it over when that process dies.
 *
 * There are two shapes, and no third:
 *
 *     token lease   token + time           take ──▶ held ──▶ released        its time is over: free for the next one
 *                                                    └─ renew                a late owner's token matches no row
 *     node lease    attempt + node         claim ─▶ held ──▶ ended           its node has ended (`isOrphaned` in `server/nodes`):
 *                                                                            the sweep gives it back
 *
 * Token leases: deliveries, results that are being read, servers, runs at a provider, the bot's updates, and turns. Their work is short
 * or renewed (`whileHeld`). Node leases: jobs and runs of the assistant. Their work may take an hour without a write, and the count of
 * attempts is needed to adopt a prompt and to charge a loss, so the life of the node decides and not a time.
 *
 * Terms. Turn: the right of one process of the studio to do recurring work, a row of `turns`: it says who does it, when it is
 * due again, and how it ended. Duty: recurring work that is done by turns; each list of duties stands where its rows belong.
 *
 * Rules. The clock of the database alone judges. Every write of the owner checks the token in the same statement. Releasing
 * only saves the wait: a process that dies releases nothing, so work under a lease must be safe to do twice.
 */

export { clockDuty } from "./clock.ts";
export { doDuties, type Duty, inTurn } from "./duties.ts";
export { isFree, isHeldBy, newToken, persist, whileHeld } from "./lease.ts";
export {
  postponeTurn,
  pruneTurns,
  readTurnFigures,
  renewTurn,
  type Turn,
  type TurnFigures,
} from "./turns.ts";
